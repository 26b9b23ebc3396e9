"""Where C++ code can be mutated, and how. It reads text that clang-format has formatted: a binary operator has a space
at both sides, and a statement begins a line. A mutation keeps all line breaks, so that assertions keep their lines."""
import dataclasses
import re

WORD_OF_STATEMENT = re.compile(r"(?:return|throw|using|if|for|while|do|else|case|default|break|continue|switch|"
                               r"namespace|static_assert|friend|delete|goto|public|private|protected|template)\b")
ASSIGNMENT = re.compile(r"[*\w.:>\[\]()-]+ [-+|&]?= ")
CALL = re.compile(r"(?:\(void\))?(?:::)?(?:[a-z_][\w.\[\]*]*|->|::|\(\)|\([^()\s]*\)\.)+(?:<[^;]*?>)?\(")
LOCK = re.compile(r"(?:const )?std::(?:scoped|unique)_lock \w+\([^;]*\)$")
WAKE = re.compile(r"\b(?:notify_\w+|signal_\w+|wake\w*|::shutdown)\(")
SWAPS = {  # what stands between spaces: the operator's name, and what takes its place
    "<": ("relational", ("<=", ">=")), "<=": ("relational", ("<", ">")),
    ">": ("relational", (">=", "<=")), ">=": ("relational", (">", "<")),
    "==": ("equality", ("!=",)), "!=": ("equality", ("==",)),
    "&&": ("and/or", ("||",)), "||": ("and/or", ("&&",)),
    "+": ("arithmetic", ("-",)), "-": ("arithmetic", ("+",)),
    "+=": ("arithmetic", ("-=",)), "-=": ("arithmetic", ("+=",)),
}


@dataclasses.dataclass(frozen=True)
class Site:
    """One place, and the texts that can stand there instead."""
    offset: int
    length: int
    operator: str
    variants: tuple

    def apply(self, text: str, variant: str) -> str:
        lost_lines = text.count("\n", self.offset, self.offset + self.length) - variant.count("\n")
        return text[:self.offset] + variant + "\n" * lost_lines + text[self.offset + self.length:]


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def closing(text: str, start: int) -> int:
    """The offset of the bracket that closes the one at `start`."""
    depth = 0
    for offset in range(start, len(text)):
        depth += (text[offset] in "([{") - (text[offset] in ")]}")
        if depth == 0:
            return offset
    return len(text) - 1


def without_texts(text: str) -> str:
    """Comments, literals of text and preprocessor lines become spaces; a literal keeps its quotes."""
    def replace(match: re.Match) -> str:
        found = match.group()
        return found[0] + blank(found[1:-1]) + found[-1] if found[0] in "\"'" else blank(found)
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#[^\n]*',
                  replace, text, flags=re.DOTALL | re.MULTILINE)


def without_calls(text: str, calls: str) -> str:
    """Blanks the calls whose beginnings, up to the bracket, match `calls`."""
    parts, at = [], 0
    for match in re.finditer(calls, text):
        if match.start() >= at:
            end = closing(text, match.end() - 1) + 1
            parts += [text[at:match.start()], blank(text[match.start():end])]
            at = end
    return "".join(parts) + text[at:]


def without_functions_of_text(text: str) -> str:
    """A function that returns a string makes words for people."""
    def replace(match: re.Match) -> str:
        return blank(match.group())
    return re.sub(r"^( *)(?:\[\[nodiscard\]\] )?(?:static |inline )?std::string(?:_view)? [\w:]+\([^;{}]*\{"
                  r"(?:[^\n]*\}|.*?\n\1\})$", replace, text, flags=re.DOTALL | re.MULTILINE)


def only_code(text: str) -> str:
    """The text with spaces for all that is not to be mutated; as long as before, with the same lines."""
    code = without_functions_of_text(without_texts(text))
    code = without_calls(code, r"\b(?:static_)?assert\(|\bError::\w+\(|\blog_?(?:\.log\(\))?(?:\.|->)\w+\(|"
                               r"\bset_thread_name\(|\boperator\S+\(|\bnoexcept\(|\bnegotiation_?\.log_\w+\(")
    return re.sub(r"\bnoexcept\b|\btemplate <[^>\n]*>|\boperator\S+(?= ?\()|\bstd::array<[^\n]*?, [^\n]*?>",
                  lambda match: blank(match.group()), code)


def swaps_in(code: str):
    for match in re.finditer(r"(?<= )(<=?|>=?|[!=]=|&&|\|\||[-+]=?)(?=\s)", code):
        operator, variants = SWAPS[match.group()]
        line = code[code.rfind("\n", 0, match.start()) + 1:code.find("\n", match.start())]
        if operator != "arithmetic" or '"' not in line:  # texts are joined by +
            yield Site(match.start(), len(match.group()), operator, variants)


def steps_in(code: str):
    """++ and --, within an expression or as a statement."""
    for match in re.finditer(r"\+\+|--", code):
        other = "--" if match.group() == "++" else "++"
        yield Site(match.start(), 2, "step", (other, ""))


def conditions_in(code: str, text: str):
    for match in re.finditer(r"\b(?:if|while) \(", code):
        end = closing(code, match.end() - 1)
        begin = code.rfind(";", match.end(), end) + 1 or match.end()
        condition = code[begin:end]
        if not re.search(r"[^=!<>]=[^=]", condition) and condition.strip():
            space = " " if condition[0] == " " else ""
            yield Site(begin, end - begin, "condition", (f"{space}!({' '.join(text[begin:end].split())})",))


def numbers_in(code: str):
    for match in re.finditer(r"(?<![\w.'>:])(\d[\d']*)([uU]?[lL]{0,2})(?![\w.>])", code):
        value = int(match.group(1).replace("'", ""))
        others = dict.fromkeys(other for other in (value + 1, value - 1, 0) if other >= 0 and other != value)
        yield Site(match.start(), len(match.group()), "constant",
                   tuple(f"{other}{match.group(2)}" for other in others))


def statement_at(code: str, start: int) -> int:
    """The offset of the semicolon that ends the statement, or -1 if what stands there is none."""
    offset = start
    while offset < len(code):
        if code[offset] in "([{":
            offset = closing(code, offset)
        elif code[offset] == ";":
            return offset
        elif code[offset] in ")]}":
            return -1
        offset += 1
    return -1


def is_deletable(statement: str) -> bool:
    return (not WORD_OF_STATEMENT.match(statement) and
            bool(ASSIGNMENT.match(statement) or CALL.match(statement)) and '"' not in statement)


def statements_in(code: str):
    for match in re.finditer(r"(?:(?<=[;{}])|(?<=\w:)|(?<=\) \{))\s*\n\s*(?=[\w:*(])", code):
        start = match.end()
        end = statement_at(code, start)
        statement = code[start:end]
        if end < 0 or not statement:
            continue
        if LOCK.match(statement):
            yield Site(start, end - start, "lock deleted", ("",))
        elif is_deletable(statement):
            yield Site(start, end - start, "wake deleted" if WAKE.search(statement) else "statement deleted", ("",))


def returns_in(code: str):
    enumerators: dict[str, list[str]] = {}
    for enum, value in re.findall(r"\b([A-Z]\w+)::([a-z]\w*)\b(?!\()", code):
        if value not in enumerators.setdefault(enum, []):
            enumerators[enum].append(value)
    for match in re.finditer(r"\breturn (?:(true|false)|([A-Z]\w+)::([a-z]\w*)|([^;]+));", code):
        is_true, enum, value, other = match.groups()
        begin = match.start() + len("return ")
        if is_true:
            variants = ("false" if is_true == "true" else "true",)
        elif enum:
            values = enumerators[enum]
            variants = (f"{enum}::{values[(values.index(value) + 1) % len(values)]}",) if len(values) > 1 else ()
        else:
            heads = re.findall(r"^\S.*\($|^\S[^\n]*\) ?(?:const)? *\{$", code[:begin], re.MULTILINE)
            is_optional = heads and heads[-1].startswith("std::optional<") and other != "std::nullopt"
            variants = ("std::nullopt",) if is_optional else ()
        if variants:
            yield Site(begin, match.end() - 1 - begin, "return", variants)


def jumps_in(code: str):
    for match in re.finditer(r"\b(?:break|continue)(?=;)", code):
        yield Site(match.start(), len(match.group()), "jump",
                   ("continue" if match.group() == "break" else "break",))


def sites_in(text: str) -> list[Site]:
    code = only_code(text)
    found = [site for kind in (swaps_in, steps_in, numbers_in, statements_in, returns_in, jumps_in)
             for site in kind(code)] + list(conditions_in(code, text))
    return sorted(found, key=lambda site: (site.offset, site.operator))
