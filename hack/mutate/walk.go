package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// finder walks through a file and notes its mutants.
type finder struct {
	*room
	*source
}

// find notes all mutants of the package: those in functions, for a constant or a type can't be switched.
func (r *room) find() {
	for _, file := range r.sources {
		f := &finder{r, file}
		for _, declaration := range file.tree.Decls {
			ast.Inspect(declaration, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.FuncDecl:
					if node.Body != nil {
						ast.Inspect(node.Body, f.visit)
					}
					return false
				case *ast.FuncLit:
					ast.Inspect(node.Body, f.visit)
					return false
				}
				return true
			})
		}
	}
}

// visit notes the mutants of a node, and says whether those below it are to be visited too.
func (f *finder) visit(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.GenDecl:
		return node.Tok == token.VAR
	case *ast.BlockStmt:
		f.statements(node.List)
	case *ast.CaseClause:
		f.statements(node.Body)
	case *ast.CommClause:
		f.statements(node.Body)
	case *ast.SwitchStmt:
		f.choices(node)
	case *ast.IfStmt:
		f.condition(node.Cond, "true", "false")
	case *ast.ForStmt:
		return f.loop(node)
	case *ast.CompositeLit:
		return f.composite(node)
	case *ast.CallExpr:
		return f.call(node)
	case ast.Expr:
		return f.expression(node)
	}
	return true
}

// walk visits these nodes in the place of all those below one.
func (f *finder) walk(nodes ...ast.Node) bool {
	for _, node := range nodes {
		ast.Inspect(node, f.visit)
	}
	return false
}

// choices forces the cases of a switch without a tag, which are conditions.
func (f *finder) choices(node *ast.SwitchStmt) {
	if node.Tag != nil {
		return
	}
	for _, clause := range node.Body.List {
		for _, condition := range clause.(*ast.CaseClause).List {
			f.condition(condition, "true", "false")
		}
	}
}

// loop leaves out what would only make a loop endless: every test notices that, and each takes its time to.
func (f *finder) loop(node *ast.ForStmt) bool {
	if node.Init != nil {
		f.walk(node.Init)
	}
	if node.Cond != nil {
		f.condition(node.Cond, "false")
		f.walk(node.Cond)
	}
	return f.walk(node.Body)
}

// composite leaves out the keys of a list, which must be constant.
func (f *finder) composite(node *ast.CompositeLit) bool {
	for _, element := range node.Elts {
		pair, isPair := element.(*ast.KeyValueExpr)
		if !isPair {
			f.walk(element)
			continue
		}
		if _, isMap := f.types.TypeOf(node).Underlying().(*types.Map); isMap {
			f.walk(pair.Key)
		}
		f.walk(pair.Value)
	}
	return false
}

// call leaves out how much room `make` takes ahead, which changes no result.
func (f *finder) call(node *ast.CallExpr) bool {
	name, isName := node.Fun.(*ast.Ident)
	if !isName || name.Name != "make" || !f.types.Types[name].IsBuiltin() {
		return f.expression(node)
	}
	if _, isList := f.types.TypeOf(node).Underlying().(*types.Slice); isList && len(node.Args) > 1 {
		f.walk(node.Args[1])
	}
	return false
}

// statements notes the mutants of the statements of a block, where another statement can stand in their place.
func (f *finder) statements(list []ast.Stmt) {
	for _, node := range list {
		switch node := node.(type) {
		case *ast.ExprStmt:
			if _, ok := node.X.(*ast.CallExpr); ok {
				f.add(node, "statement", "")
			}
		case *ast.ReturnStmt:
			if len(node.Results) == 0 {
				f.add(node, "statement", "")
			}
		case *ast.AssignStmt:
			f.assignment(node)
		case *ast.IncDecStmt:
			f.add(node, "arithmetic", f.of(node.X)+swaps[node.Tok][0].String())
		case *ast.BranchStmt:
			for _, other := range swaps[node.Tok] {
				f.add(node, "jump", strings.Replace(f.of(node), node.Tok.String(), other.String(), 1))
			}
		}
	}
}

func (f *finder) assignment(node *ast.AssignStmt) {
	blank := func(to ast.Expr) bool { name, ok := to.(*ast.Ident); return ok && name.Name == "_" }
	if node.Tok == token.ASSIGN && !slices.ContainsFunc(node.Lhs, blank) {
		f.add(node, "statement", "")
	}
	if len(swaps[node.Tok]) > 0 && is(f.types.TypeOf(node.Lhs[0]), types.IsNumeric) {
		f.add(node, "arithmetic", f.of(node.Lhs[0])+" "+swaps[node.Tok][0].String()+" "+f.of(node.Rhs[0]))
	}
}
