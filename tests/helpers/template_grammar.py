"""Untrusted chat templates: a grammar of Jinja with mostly wrong or harmful content."""

from __future__ import annotations

from hypothesis import strategies as st

VALUES = st.sampled_from(
    ["messages", "messages[0]", "messages[0].content", "messages[-1]['role']", "bos_token", "nothing", "x", "loop", "1",
     "0", "-1", "10**9", "2**63", "'a'", "'%s'", "'{}'", "''", "[]", "[1, 2]", "{}", "{'a': 1}", "range(9)", "true",
     "range(10**9)", "namespace(a=1)", "dict(a=1)", "self", "caller", "messages.append", "''.__class__", "x.y.z",
     "''.format", "'{0.__class__}'", "raise_exception", "raise_exception('no\\n\\x1b[2J')", "1e308", "'\\u202e'",
     "'ab' * 10**8", "[messages] * 10**8", "'a'.join(range(99999))", "loop.index0", "messages|length", "1/0",
     "add_generation_prompt", "'%99999999d'", "'%*d'", "'{:>99999999}'", "'\\n' * 1000000"]
)  # fmt: skip
FILTERS = st.sampled_from(
    ["trim", "upper", "tojson", "tojson(indent=9)", "tojson(indent=10**9)",
     "length", "join", "join(', ')", "list", "sort",
     "reverse", "unique", "first", "last", "random", "default('a')", "replace('a', 'b' * 9999)", "replace('', 'abc')",
     "indent(9)", "indent(10**9)", "format(1)", "int", "float", "string", "abs", "round(300)", "sum", "map('upper')",
     "map(attribute='content')", "select", "selectattr('role', 'equalto', 'user')", "groupby('role')", "dictsort",
     "items", "wordcount", "truncate(9)", "truncate(10**10)", "center(10**10)", "batch(2)", "escape", "e", "safe",
     "striptags", "urlencode", "min", "max", "nosuch", "attr('__class__')", "attr('format')", "forceescape", "title",
     "filesizeformat", "slice(10**9)", "list|list|list", "reject('none')", "tojson|tojson|tojson", "capitalize"]
)  # fmt: skip
OPERATORS = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "~", "==", "<", "and", "or", "in", "is", "if"])
EXPRESSIONS = st.recursive(
    VALUES,
    lambda inner: st.one_of(
        st.tuples(inner, FILTERS).map("({0[0]})|{0[1]}".format),
        st.tuples(inner, OPERATORS, inner).map("({0[0]}) {0[1]} ({0[2]})".format),
        st.tuples(inner, inner).map("({0[0]})[{0[1]}]".format),
        st.tuples(inner, inner).map("({0[0]})({0[1]})".format),
        st.tuples(inner, st.sampled_from(["split()", "strip(' ')", "format(1)", "upper()", "encode()", "zfill(10**10)",
                                          "ljust(10**10)", "replace('a', 'aa' * 99999)", "items()",
                                          "join(range(99999))",
                                          "format_map({})", "translate({})", "expandtabs(10**10)", "count('')",
                                          "splitlines()", "__class__", "mro()", "copy()", "splice", "pop()",
                                          "casefold()", "partition('')", "index('q')"])).map("({0[0]}).{0[1]}".format),
    ),
    max_leaves=6,
)  # fmt: skip
STATEMENTS = st.recursive(
    st.one_of(
        EXPRESSIONS.map("{{{{ {} }}}}".format),
        EXPRESSIONS.map("{{% set x = {} %}}".format),
        st.text(max_size=12),
        st.just(
            "{% for message in messages %}{{ message.content }}{% endfor %}",
        ),
        st.sampled_from(["{% include 'x' %}", "{% import 'os' as x %}", "{% extends messages %}", "{% break %}", "{#",
                         "{% raw %}", "{%", "{{", "}}", "{% endfor %}", "{{ super() }}", "{% do 1 %}", "\x1b[2J"]),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(EXPRESSIONS, inner).map("{{% for x in {0[0]} %}}{0[1]}{{% endfor %}}".format),
        st.tuples(EXPRESSIONS, inner).map(
            "{{% for x in {0[0]} recursive %}}{0[1]}{{{{ loop(x) }}}}{{% endfor %}}".format
        ),
        st.tuples(EXPRESSIONS, inner, inner).map("{{% if {0[0]} %}}{0[1]}{{% else %}}{0[2]}{{% endif %}}".format),
        inner.map("{{% macro x(a=1) %}}{}{{{{ x() }}}}{{% endmacro %}}{{{{ x() }}}}".format),
        inner.map("{{% macro y(a=1) %}}{}{{% endmacro %}}{{{{ y() * 9999 }}}}".format),
        inner.map("{{% set x %}}{}{{% endset %}}{{{{ x * 999 }}}}".format),
        inner.map("{{% generation %}}{}{{% endgeneration %}}".format),
        inner.map("{{% filter upper %}}{}{{% endfilter %}}".format),
        inner.map("{{% call messages.append() %}}{}{{% endcall %}}".format),
        inner.map("{{% block a %}}{}{{% endblock %}}{{{{ self.a() * 99 }}}}".format),
        inner.map("{{% for a in range(999) %}}{{% for b in range(999) %}}{}{{% endfor %}}{{% endfor %}}".format),
        inner.map(
            "{{% set n = namespace(t=1) %}}{{% for a in range(99) %}}{}{{% set n.t = n.t ~ n.t %}}{{% endfor %}}".format
        ),
    ),
    max_leaves=8,
)  # fmt: skip
