package kinds

import (
	"fmt"
	"testing"
)

// TestShow prints what the functions return.
func TestShow(*testing.T) {
	fmt.Println("double", double(3))
	fmt.Println("less", less(1, 1), less(1, 2), less(2, 1))
	fmt.Println("equal", equal(1, 1), equal(nil, 1))
	fmt.Println("sum", sum(3, 2))
	fmt.Println("joined", joined("a", "b"))
	fmt.Println("left", left(7, 4))
	fmt.Println("both", both(true, true), both(true, false))
	fmt.Println("nested", nested(3, 1, 4), nested(3, 1, 5), nested(8, 1, 6), nested(5, 1, 5))
	fmt.Println("not", not(true))
	fmt.Println("minus", minus(3))
	fmt.Println("count", count(1))
	fmt.Println("wait", wait())
	fmt.Println("half", half(0.5), half(0.7))
	fmt.Println("yes", yes())
	fmt.Println("sign", sign(9), sign(10), sign(11))
	fmt.Println("word", word(3), word(4))
	fmt.Println("set", set(&box{1}, 7), set(&box{1}, 8))
	fmt.Println("firsts", firsts([]int{1, 2, 3, 4}))
	fmt.Println("turns", turns(2))
	fmt.Println("list", list(2))
	fmt.Println("search", search([]int{1, 3}), search([]int{3, 3}))
}
