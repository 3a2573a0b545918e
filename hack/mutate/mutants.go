package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// condition is one that a mutant makes always true, or always false.
func (f *finder) condition(node ast.Expr, always ...string) {
	if f.types.Types[node].Value != nil {
		return
	}
	for _, value := range always {
		f.add(node, "condition", value)
	}
}

// swaps are the operators that stand in for another.
var swaps = map[token.Token][]token.Token{
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.MUL_ASSIGN: {token.QUO_ASSIGN}, token.QUO_ASSIGN: {token.MUL_ASSIGN},
	token.INC: {token.DEC}, token.DEC: {token.INC},
	token.BREAK: {token.CONTINUE}, token.CONTINUE: {token.BREAK},
}

// expression notes the mutants of an expression that has a value. What is constant as a whole is mutated as a whole: its parts are not
// computed at run time, so there is nothing in them to switch.
func (f *finder) expression(node ast.Expr) bool {
	found := f.types.Types[node]
	switch {
	case found.IsType():
		return false
	case found.Value != nil:
		f.constant(node, found.Type)
		return false
	}
	switch node := node.(type) {
	case *ast.BinaryExpr:
		f.binary(node)
	case *ast.UnaryExpr:
		if node.Op == token.NOT || node.Op == token.SUB {
			f.add(node, "negation", f.of(node.X))
		}
	}
	return true
}

func (f *finder) binary(node *ast.BinaryExpr) {
	kind := "comparison"
	switch node.Op {
	case token.LAND, token.LOR:
		kind = "logic"
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
		if !is(f.types.TypeOf(node), types.IsNumeric) {
			return
		}
		kind = "arithmetic"
	}
	for _, operator := range swaps[node.Op] {
		f.add(node, kind, f.operand(node.X, operator)+" "+operator.String()+" "+f.operand(node.Y, operator))
	}
}

// operand is the text of one, in parentheses where another operator would divide it.
func (f *finder) operand(node ast.Expr, operator token.Token) string {
	if inner, ok := node.(*ast.BinaryExpr); ok && inner.Op.Precedence() < operator.Precedence() {
		return "(" + f.of(node) + ")"
	}
	return f.of(node)
}

// constant changes each number in a constant expression: to one more, and to 0. Named constants stay.
func (f *finder) constant(node ast.Expr, of types.Type) {
	if name, ok := node.(*ast.Ident); ok && is(of, types.IsBoolean) {
		switch name.Name {
		case "true":
			f.add(node, "constant", "false")
		case "false":
			f.add(node, "constant", "true")
		}
		return
	}
	if !is(of, types.IsNumeric) {
		return
	}
	ast.Inspect(node, func(part ast.Node) bool {
		number, ok := part.(*ast.BasicLit)
		if !ok || number.Kind != token.INT && number.Kind != token.FLOAT {
			return true
		}
		others := []string{more(number.Value)}
		if strings.Trim(number.Value, "0.") != "" {
			others = append(others, "0")
		}
		for _, other := range others {
			f.add(node, "constant", f.between(node.Pos(), number.Pos())+other+f.between(number.End(), node.End()))
		}
		return true
	})
}

// more is a number with 1 added to it.
func more(number string) string {
	digit := number[len(number)-1]
	if len(number) == 1 && digit < '9' {
		return string(digit + 1)
	}
	return "(" + number + "+1)"
}

// is says whether a type is one of these basic ones.
func is(one types.Type, what types.BasicInfo) bool {
	basic, ok := one.Underlying().(*types.Basic)
	return ok && basic.Info()&what != 0
}

// of is the text of a node.
func (f *finder) of(node ast.Node) string { return f.between(node.Pos(), node.End()) }

func (f *finder) between(from, to token.Pos) string {
	return string(f.text[f.offset(from):f.offset(to)])
}

func (f *finder) offset(at token.Pos) int { return f.set.Position(at).Offset }

// add notes a mutant: this text for that node.
func (f *finder) add(node ast.Node, kind, text string) {
	at := f.set.Position(node.Pos())
	one := &mutant{
		id: len(f.mutants) + 1, File: f.shown, Line: at.Line, Column: at.Column, Kind: kind, Before: short(f.of(node)), After: short(text),
	}
	f.mutants = append(f.mutants, one)
	where := place{from: f.offset(node.Pos()), to: f.offset(node.End())}
	result := ""
	if value, ok := node.(ast.Expr); ok {
		where.value = true
		result = types.TypeString(types.Default(f.types.TypeOf(value)), f.called)
	}
	if f.places[where] == nil {
		f.places[where] = &site{place: where, result: result}
	}
	f.places[where].instead = append(f.places[where].instead, alternative{one, text})
}

// called is the name of a package in the file.
func (f *finder) called(other *types.Package) string {
	if other.Path() == f.room.path {
		return ""
	}
	for _, spec := range f.tree.Imports {
		if spec.Name != nil && strings.Trim(spec.Path.Value, `"`) == other.Path() {
			return spec.Name.Name
		}
	}
	return other.Name()
}

// short is a text for one line of a report.
func short(text string) string {
	const longest = 100
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > longest {
		return string(line[:longest]) + " …"
	}
	return string(line)
}
