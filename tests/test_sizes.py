"""Sizes of copies and the objects that they copy: each case says what C's rules, on both ABIs, make of it."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from reviewbot.csyntax.abi import Abi, DataModel
from reviewbot.csyntax.base_objects import base_object
from reviewbot.csyntax.c_declarations import parse_type
from reviewbot.csyntax.c_tokens import tokenise
from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.definitions import find_definitions
from reviewbot.csyntax.least_size import LeastSize
from reviewbot.csyntax.sizes import (
    FunctionScope,
    ObjectKind,
    SizeForm,
    evaluate_size,
    kernel_object,
    pointed_to,
)

HEADER = b"""
#define PLAIN 8
#define NESTED (PLAIN / 2)
#define TWICE(x) ((x) * 2)
#define WORDS_OF(bits) (((bits) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define LOOP_A LOOP_B
#define LOOP_B LOOP_A
#define ARRAY_SIZE(arr) (sizeof(arr) / sizeof((arr)[0]) + __must_be_array(arr))
#define GROUP(NAME, MEMBERS...) union { struct { MEMBERS }; struct { MEMBERS } NAME; }
#define DECLARE_WORDS(name, bits) unsigned long name[WORDS_OF(bits)]
#define macro_type_t unsigned short
#define to_pointer(x) ({ typeof(x) __x = (x); (void __user *)(uintptr_t)__x; })
#define to_typed(x) ({ u32 *__p = (x); __p; })

enum colour { RED, GREEN = 4, BLUE };
enum { TAIL = sizeof(u16), AFTER };

typedef int file_pid_t;
typedef file_pid_t chained_t;
typedef u64 __attribute__((aligned(4))) loose_u64;
#ifdef CONFIG_64BIT
typedef long wide_t;
#else
typedef short wide_t;
#endif
#ifdef CONFIG_FANCY
typedef u32 fancy_t;
typedef u32 same_t;
#else
typedef u64 fancy_t;
typedef unsigned int same_t;
#endif
typedef struct { unsigned long sig[64 / BITS_PER_LONG]; } mask_t;
typedef self_t self_t;

struct only_declared;
struct pair { u16 a; u32 b; };
struct tight { u16 a; u32 b; } __packed;
struct raised { u8 a; } __aligned(8);
struct bits { unsigned a:3; unsigned b:30; unsigned :0; u8 c; };
struct narrow_bits { u8 a:4, b:4; };
struct mixed { char c; long l; };
struct holder {
	int (*callback)(int, void *);
	const char *name;
	struct { u8 x; u64 y; };
	union { u32 word; u8 bytes[4]; } u;
	u16 tail[];
};
struct loose { u32 a; loose_u64 b; };
struct configured {
	u32 a;
#ifdef CONFIG_FANCY
	u32 b;
#endif
};
struct either {
#ifdef CONFIG_FANCY
	u32 a;
#else
	s32 b;
#endif
};
struct by_word_size {
	u32 a;
#if BITS_PER_LONG == 64
	u32 pad;
#endif
};
struct grouped { GROUP(head, u16 a; u16 b;); u32 c; };
struct worded { DECLARE_WORDS(map, 64); };
struct outer { struct pair in[2]; struct narrow_bits *p; mask_t mask; };
union either_way { u8 a; u64 b; };

extern struct pair global_pair;
static const int table[] = { 1, 2 };
static int counter;
struct pair *get_pair(int index);
"""

FUNCTION = b"""static long handle(struct outer *o, u32 __user *up, ulong arg, int len, u8 buf[16], struct holder h)
{
	u64 value;
	const size_t fixed = sizeof(u16);
	size_t unmodified = 4;
	size_t modified = 4;
	char text[] = "abc";
	u8 small[4], one[1];
	struct pair *p, copy;
	enum colour colour;
	struct { u32 x; u32 y; } local;
	void *raw;
	double real;
	bool flag;
	mask_t mask;
	DECLARE_WORDS(map, 32);
	typeof(*p) same_as_p;
	__auto_type guessed = up;
	struct only_declared *opaque;

	modified = len;
	if (len) {
		u16 value;
		MARK1(value);
	}
	for (u8 step = 0; step < 3; step++) {
		MARK2(step);
	}
	switch (len) {
	case 1: {
		struct pair val;
		MARK3(val);
		break;
	}
	case 2: {
		u8 val;
		MARK4(val);
	}
	}
#ifdef CONFIG_FANCY
	u32 branch;
#else
	u64 branch;
#endif
	return MARK5(value);
}
"""


def lookup(kinds: Collection[DefinitionKind], name: str) -> tuple[Definition, ...]:
    found = find_definitions(HEADER, name, "include/linux/example.h")
    return tuple(each for each in found if each.kind in kinds)


def nothing(kinds: Collection[DefinitionKind], name: str) -> tuple[Definition, ...]:
    return ()


SCOPE = FunctionScope.from_text(FUNCTION)
END = FUNCTION.index(b"MARK5")

KNOWN = [
    # expression, bytes on 32 bits, bytes on 64 bits, form
    ("4", 4, 4, SizeForm.LITERAL),
    ("0x8UL", 8, 8, SizeForm.LITERAL),
    ("010", 8, 8, SizeForm.LITERAL),
    ("'\\n'", 10, 10, SizeForm.LITERAL),
    ("(4)", 4, 4, SizeForm.LITERAL),
    ("(size_t)4", 4, 4, SizeForm.LITERAL),
    ("sizeof(int)", 4, 4, SizeForm.SIZEOF_SCALAR),
    ("sizeof(unsigned long)", 4, 8, SizeForm.SIZEOF_SCALAR),
    ("sizeof(long long)", 8, 8, SizeForm.SIZEOF_SCALAR),
    ("sizeof(long unsigned)", 4, 8, SizeForm.SIZEOF_SCALAR),
    ("sizeof(double)", 8, 8, SizeForm.SIZEOF_FLOAT),
    ("sizeof(size_t)", 4, 8, SizeForm.SIZEOF_SCALAR),
    ("sizeof(__u64)", 8, 8, SizeForm.SIZEOF_SCALAR),
    ("sizeof(void *)", 4, 8, SizeForm.SIZEOF_POINTER),
    ("sizeof(u32 __user *)", 4, 8, SizeForm.SIZEOF_POINTER),
    ("sizeof(chained_t)", 4, 4, SizeForm.SIZEOF_SCALAR),
    ("sizeof(macro_type_t)", 2, 2, SizeForm.SIZEOF_SCALAR),
    ("sizeof(wide_t)", 2, 8, SizeForm.SIZEOF_SCALAR),
    ("sizeof(same_t)", 4, 4, SizeForm.SIZEOF_SCALAR),
    ("sizeof(enum colour)", 4, 4, SizeForm.SIZEOF_SCALAR),
    ("sizeof(struct pair)", 8, 8, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(struct tight)", 6, 6, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(struct raised)", 8, 8, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(struct bits)", 12, 12, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(struct narrow_bits)", 1, 1, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(struct mixed)", 8, 16, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(struct holder)", 32, 40, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(struct loose)", 12, 12, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(struct either)", 4, 4, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(struct by_word_size)", 4, 8, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(struct grouped)", 8, 8, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(struct worded)", 8, 8, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(union either_way)", 8, 8, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(mask_t)", 8, 8, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(u32[2])", 8, 8, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof value", 8, 8, SizeForm.SIZEOF_SCALAR),
    ("sizeof (value)", 8, 8, SizeForm.SIZEOF_SCALAR),
    ("sizeof(*up)", 4, 4, SizeForm.SIZEOF_SCALAR),
    ("sizeof(up)", 4, 8, SizeForm.SIZEOF_POINTER),
    ("sizeof(buf)", 4, 8, SizeForm.SIZEOF_POINTER),  # an array parameter is a pointer
    ("sizeof(text)", 4, 4, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(small)", 4, 4, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(small[0])", 1, 1, SizeForm.SIZEOF_SCALAR),
    ("sizeof(local)", 8, 8, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(local.y)", 4, 4, SizeForm.SIZEOF_SCALAR),
    ("sizeof(o->in[1].a)", 2, 2, SizeForm.SIZEOF_SCALAR),
    ("sizeof(o->in[1])", 8, 8, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(*o->p)", 1, 1, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(h.y)", 8, 8, SizeForm.SIZEOF_SCALAR),
    ("sizeof(h.callback)", 4, 8, SizeForm.SIZEOF_POINTER),
    ("sizeof(h.u.bytes)", 4, 4, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(((struct pair *)0)->a)", 2, 2, SizeForm.SIZEOF_SCALAR),
    ("sizeof(global_pair.b)", 4, 4, SizeForm.SIZEOF_SCALAR),
    ("sizeof(table)", 8, 8, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(get_pair(3)->b)", 4, 4, SizeForm.SIZEOF_SCALAR),
    ("sizeof(same_as_p)", 8, 8, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(*guessed)", 4, 4, SizeForm.SIZEOF_SCALAR),
    ("sizeof(map)", 4, 8, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(typeof(value))", 8, 8, SizeForm.SIZEOF_SCALAR),
    ("sizeof(flag)", 1, 1, SizeForm.SIZEOF_SCALAR),
    ("sizeof('a')", 4, 4, SizeForm.SIZEOF_SCALAR),
    ('sizeof("ab")', 3, 3, SizeForm.SIZEOF_AGGREGATE),
    ("sizeof(copy.a + 1)", 4, 4, SizeForm.SIZEOF_SCALAR),
    ("sizeof(value + 1)", 8, 8, SizeForm.SIZEOF_SCALAR),
    ("PLAIN", 8, 8, SizeForm.CONSTANT),
    ("NESTED", 4, 4, SizeForm.CONSTANT),
    ("GREEN", 4, 4, SizeForm.CONSTANT),
    ("BLUE", 5, 5, SizeForm.CONSTANT),
    ("AFTER", 3, 3, SizeForm.CONSTANT),
    ("BITS_PER_LONG", 32, 64, SizeForm.CONSTANT),
    ("fixed", 2, 2, SizeForm.CONSTANT),
    ("unmodified", 4, 4, SizeForm.CONSTANT),
    ("TWICE(sizeof(u16))", 4, 4, SizeForm.ARITHMETIC),
    ("WORDS_OF(64)", 2, 1, SizeForm.ARITHMETIC),
    ("sizeof(u32) * 2", 8, 8, SizeForm.ARITHMETIC),
    ("1 << 3", 8, 8, SizeForm.ARITHMETIC),
    ("10 - 3 * 2", 4, 4, SizeForm.ARITHMETIC),
    ("sizeof(long) == 8 ? 4 : 2", 2, 4, SizeForm.ARITHMETIC),
    ("ARRAY_SIZE(small)", 4, 4, SizeForm.ARITHMETIC),
    ("offsetof(struct pair, b)", 4, 4, SizeForm.ARITHMETIC),
    ("offsetof(struct outer, in)", 0, 0, SizeForm.ARITHMETIC),
    ("sizeof_field(struct pair, a)", 2, 2, SizeForm.ARITHMETIC),
    ("min_t(size_t, 4, sizeof(u64))", 4, 4, SizeForm.ARITHMETIC),
    ("max(2, 8)", 8, 8, SizeForm.ARITHMETIC),
    ("~0xfffffff7U", 8, 8, SizeForm.ARITHMETIC),
    ("(u8)0x104", 4, 4, SizeForm.LITERAL),
]

UNKNOWN = [
    # expression, a word of the reason
    ("len", "variable"),
    ("arg", "variable"),
    ("modified", "variable"),
    ("counter", "variable"),
    ("len * 4", "variable"),
    ("min(len, 4)", "variable"),
    ("unheard_of", "not defined"),
    ("sizeof(struct only_declared)", "not defined"),
    ("sizeof(struct unheard_of)", "not defined"),
    ("sizeof(unheard_of_t)", "not de"),
    ("sizeof(*opaque)", "not defined"),
    ("sizeof(fancy_t)", "differs"),
    ("sizeof(struct configured)", "differs"),
    ("sizeof(branch)", "differs"),
    ("sizeof(self_t)", "itself"),
    ("sizeof(void)", "void"),
    ("sizeof(long double)", "different sizes"),
    ("LOOP_A", "itself"),
    ("strlen(text)", "called"),
    ("4 / 0", "zero"),
    ("1 << 99", "shift"),
    ("-1", "negative"),
    ("4 +", "read"),
    ("", "read"),
    ("(" * 5000 + "4" + ")" * 5000, "read"),
    ("+".join(["1"] * 5000), "read"),
    ("!" * 5000 + "1", "read"),
    ("sizeof(" + "struct { " * 400 + "u32 x;" + " } y;" * 400 + ")", ""),
    ("sizeof(u32" + "[2]" * 400 + ")", ""),
]


@pytest.mark.parametrize(("expression", "ilp32", "lp64", "form"), KNOWN, ids=[case[0] for case in KNOWN])
def test_size_is_known(expression: str, ilp32: int, lp64: int, form: SizeForm) -> None:
    """The size on 32 and on 64 bits is what a C compiler says."""
    result = evaluate_size(expression.encode(), END, SCOPE, lookup)
    assert (result.ilp32, result.lp64, result.form, result.reason) == (ilp32, lp64, form, "")


@pytest.mark.parametrize(("expression", "reason"), UNKNOWN, ids=[case[0][:40] for case in UNKNOWN])
def test_size_is_unknown(expression: str, reason: str) -> None:
    """What is no compile-time constant, or not the same in all variants, is unknown and says why."""
    result = evaluate_size(expression.encode(), END, SCOPE, lookup)
    assert (result.ilp32, result.lp64, result.form) == (None, None, SizeForm.UNKNOWN)
    assert result.reason and reason in result.reason


@pytest.mark.parametrize("expression", [case[0] for case in (*KNOWN, *UNKNOWN)], ids=lambda text: text[:40])
def test_enough_changes_only_what_is_above_it(expression: str) -> None:
    """Up to that many bytes the size is exact; above it is some number above, or unknown as it is without."""
    exact = evaluate_size(expression.encode(), END, SCOPE, lookup)
    for enough in (0, 1, 4, 8, 12, 39):
        result = evaluate_size(expression.encode(), END, SCOPE, lookup, enough=enough)
        sizes = ((exact.ilp32, result.ilp32), (exact.lp64, result.lp64))
        is_above = any(told is not None and told > enough for _, told in sizes)
        for size, told in sizes:
            if size is not None and size <= enough:
                assert told == size or (told is None and is_above)
            else:
                assert told is None or told > enough


@pytest.mark.parametrize("abi", list(Abi))
@pytest.mark.parametrize("expression", [case[0] for case in (*KNOWN, *UNKNOWN)], ids=lambda text: text[:40])
def test_one_word_size_alone(expression: str, abi: Abi) -> None:
    """The same as with the other one, and nothing about that."""
    both = evaluate_size(expression.encode(), END, SCOPE, lookup)
    alone = evaluate_size(expression.encode(), END, SCOPE, lookup, abis=[abi])
    assert alone.ilp32 == (both.ilp32 if abi is Abi.ILP32 else None)
    assert alone.lp64 == (both.lp64 if abi is Abi.LP64 else None)


def test_a_large_structure_is_told_by_its_first_members() -> None:
    """No header is searched for the types of the others."""
    asked = []

    def noted(kinds: Collection[DefinitionKind], name: str) -> tuple[Definition, ...]:
        asked.append(name)
        return lookup(kinds, name)

    large = b"sizeof(struct { mask_t first; u64 a; u32 b; struct pair in[2]; })"
    assert evaluate_size(large, END, SCOPE, noted, enough=8).lp64 == 12
    assert asked == []
    assert evaluate_size(large, END, SCOPE, noted).lp64 == 40
    assert "pair" in asked


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("struct { u32 a; u64 b; }", 12),
        ("struct { u32 a:4; u8 b; struct tag { u64 x; }; struct { u16 c; }; MACRO(d); u64 e[N]; u16 f[3]; }", 9),
        ("union { u32 a; struct { u8 b[6]; unknown_t c; } d; }", 6),
        ("struct { u64 a[0]; void *b; char c[]; }", 8),
        ("struct {\n#ifdef A\nu32 a;\nu32 b;\n#else\nu16 c;\n#endif\nu8 d;\n}", 3),
        ("struct {\n" + "".join(f"#ifdef A{n}\nu32 a{n};\n#endif\n" for n in range(6)) + "u32 b;\n}", 0),
        ("unknown_t", 0),
        ("struct unknown", 0),
        ("struct { " * 18 + "u8 x;" + " } y;" * 17 + " }", 1),
        ("struct { " * 30 + "u8 x;" + " } y;" * 29 + " }", 0),
    ],
)
def test_least_size(text: str, least: int) -> None:
    model = DataModel(abi=Abi.LP64)
    assert LeastSize(model, SCOPE.table, 1000).of(parse_type(tokenise(text.encode()), SCOPE.table)) == least


@pytest.mark.parametrize(
    ("mark", "name", "size"),
    [("MARK1", "value", 2), ("MARK2", "step", 1), ("MARK3", "val", 8), ("MARK4", "val", 1), ("MARK5", "value", 8)],
)
def test_innermost_declaration_wins(mark: str, name: str, size: int) -> None:
    """A name means its declaration in the innermost block around the use."""
    at = FUNCTION.index(mark.encode())
    assert evaluate_size(f"sizeof({name})".encode(), at, SCOPE, lookup).lp64 == size


@pytest.mark.parametrize(
    ("expression", "kind", "ilp32", "lp64"),
    [
        ("&value", ObjectKind.SCALAR, 8, 8),
        ("&fixed", ObjectKind.SCALAR, 4, 8),
        ("&colour", ObjectKind.SCALAR, 4, 4),
        ("&flag", ObjectKind.SCALAR, 1, 1),
        ("&real", ObjectKind.FLOAT, 8, 8),
        ("&raw", ObjectKind.POINTER, 4, 8),
        ("raw", ObjectKind.VOID, None, None),
        ("&copy", ObjectKind.STRUCT, 8, 8),
        ("p", ObjectKind.STRUCT, 8, 8),
        ("&p->b", ObjectKind.SCALAR, 4, 4),
        ("&o->in[1].a", ObjectKind.SCALAR, 2, 2),
        ("&h.u", ObjectKind.UNION, 4, 4),
        ("small", ObjectKind.ARRAY, 4, 4),
        ("&small", ObjectKind.ARRAY, 4, 4),
        ("one", ObjectKind.SCALAR, 1, 1),
        ("&small[3]", ObjectKind.SCALAR, 1, 1),
        ("small + 1", ObjectKind.SCALAR, 1, 1),
        ("buf + len", ObjectKind.SCALAR, 1, 1),
        ("(u8 *)p + 4", ObjectKind.SCALAR, 1, 1),
        ("(char *)&copy", ObjectKind.SCALAR, 1, 1),
        ('"abc"', ObjectKind.ARRAY, 4, 4),
        ("&mask", ObjectKind.STRUCT, 8, 8),
        ("mask.sig", ObjectKind.ARRAY, 8, 8),
        ("opaque", ObjectKind.STRUCT, None, None),
        ("len ? &copy : NULL", ObjectKind.UNKNOWN, None, None),
        ("len ? &copy : (void *)0", ObjectKind.STRUCT, 8, 8),
        ("to_typed(up)", ObjectKind.SCALAR, 4, 4),
        ("get_pair(0)", ObjectKind.STRUCT, 8, 8),
        ("len", ObjectKind.UNKNOWN, None, None),
        ("unheard_of", ObjectKind.UNKNOWN, None, None),
    ],
)
def test_kernel_object(expression: str, kind: ObjectKind, ilp32: int | None, lp64: int | None) -> None:
    """An address argument points to an object of this kind and size."""
    result = kernel_object(expression.encode(), END, SCOPE, lookup)
    assert (result.kind, result.ilp32, result.lp64) == (kind, ilp32, lp64)
    assert result.reason or kind is ObjectKind.VOID or lp64 is not None


def test_word_array_is_marked() -> None:
    """A struct that is an array of long is told from other structs of its size."""
    assert kernel_object(b"&mask", END, SCOPE, lookup).is_word_array
    assert not kernel_object(b"&copy", END, SCOPE, lookup).is_word_array


@pytest.mark.parametrize(
    ("expression", "kind", "lp64"),
    [
        ("up", ObjectKind.SCALAR, 4),
        ("up + 1", ObjectKind.SCALAR, 4),
        ("(u16 __user *)arg", ObjectKind.SCALAR, 2),
        ("(void __user *)arg", ObjectKind.VOID, None),
        ("to_pointer(arg)", ObjectKind.VOID, None),
    ],
)
def test_user_pointer(expression: str, kind: ObjectKind, lp64: int | None) -> None:
    """The user-side pointer is typed in the same way."""
    result = pointed_to(expression.encode(), END, SCOPE, lookup)
    assert (result.kind, result.lp64) == (kind, lp64)


@pytest.mark.parametrize(
    ("expression", "base"),
    [
        ("arg", "arg"),
        ("p + 1", "p"),
        ("up++", "up"),
        ("++up", "up"),
        ("(void __user *)arg", "arg"),
        ("(u32 __user *)(arg + 4)", "arg"),
        ("&frame->uc.uc_mcontext", "frame"),
        ("(void __user *)&sc->gp_regs[i]", "sc"),
        ("&tm_frame->x", "tm_frame"),
        ("&((struct foo __user *)arg)->x[3].y", "arg"),
        ("&a->b->c", "a->b"),
        ("attr->first", "attr->first"),
        ("compat_ptr( x )", "compat_ptr(x)"),
        ("((", "(("),
    ],
)
def test_base_object(expression: str, base: str) -> None:
    """Addresses within one object have one base; a pointer that is read from memory is its own."""
    assert base_object(expression.encode()) == base


def test_i386_alignment() -> None:
    """i386 aligns a long long in a structure to 4 bytes."""
    size = b"sizeof(struct { u32 a; u64 b; })"
    assert evaluate_size(size, END, SCOPE, lookup).ilp32 == 16
    assert evaluate_size(size, END, SCOPE, lookup, long_long_alignment=4).ilp32 == 12


def test_system_call_parameters() -> None:
    """A definer's arguments after its name are pairs of type and parameter."""
    text = b"SYSCALL_DEFINE3(copy_it, int, number, u16 __user *, where, size_t, len)\n{\n\treturn 0;\n}\n"
    scope = FunctionScope.from_text(text)
    assert evaluate_size(b"sizeof(*where)", len(text) - 3, scope, nothing).lp64 == 2
    assert evaluate_size(b"len", len(text) - 3, scope, nothing).reason == "`len` is a variable"


def test_braces_in_both_branches() -> None:
    """A block that closes in each branch of an #if closes once; what was declared before it is still known."""
    text = b"void f(void)\n{\n\tu16 v;\n\tif (x) {\n#ifdef A\n\t\ty();\n\t}\n#else\n\t}\n#endif\n\tUSE(v);\n}\n"
    scope = FunctionScope.from_text(text)
    assert evaluate_size(b"sizeof(v)", text.index(b"USE"), scope, nothing).lp64 == 2


def test_call_declares_nothing() -> None:
    """A macro call with a name in parentheses is no declaration of that name."""
    text = b"void f(u8 v)\n{\n\tBUG_ON(v);\n\tUSE(v);\n}\n"
    assert evaluate_size(b"sizeof(v)", text.index(b"USE"), FunctionScope.from_text(text), nothing).lp64 == 1


def test_without_a_tree() -> None:
    """Types of C and of fixed width are known without any header; others are not."""
    assert evaluate_size(b"sizeof(__u32)", END, SCOPE, nothing).lp64 == 4
    assert evaluate_size(b"sizeof(struct pair)", END, SCOPE, nothing).lp64 is None


def test_deep_structures_are_bounded() -> None:
    """A thousand structures within one another end in an answer or a reason, not in a traceback."""
    levels = [f"struct s{n} {{ struct s{n + 1} in; }};" for n in range(1000)]
    text = "\n".join([*levels, "struct s1000 { u32 x; };", ""]).encode()

    def deep(kinds: Collection[DefinitionKind], name: str) -> tuple[Definition, ...]:
        at = text.find(f"struct {name} {{".encode())
        body = text[at : text.find(b";\n", at) + 1]
        kind = DefinitionKind.STRUCT
        found = Definition(kind=kind, name=name, path="a.h", line=1, start=at, text=body)
        return (found,) if at >= 0 and kind in kinds else ()

    assert "deep" in evaluate_size(b"sizeof(struct s0)", END, SCOPE, deep).reason
    assert evaluate_size(b"sizeof(struct s995)", END, SCOPE, deep).lp64 == 4
