"""tf.app.flags: the options of a program's command line."""

import sys as _sys

from ..errors import InvalidArgumentError
from ._missing import getattr_of

__getattr__ = getattr_of("tf.flags")


class Error(InvalidArgumentError):
    """An option that the program does not have, or of another kind."""


IllegalFlagValueError = UnrecognizedFlagError = DuplicateFlagError = Error
ValidationError = Error


class _Flag:
    def __init__(self, name, default, help, parse, kind):
        self.name = name
        self.default = default
        self.help = help
        self.parse = parse
        self.kind = kind
        self.value = default
        self.present = 0
        self.validators = []

    def set(self, text):
        try:
            self.value = self.parse(text)
        except (ValueError, TypeError):
            raise Error(f"flag --{self.name}={text}: expected {self.kind}") from None
        self.present += 1


class _FlagValues:
    """FLAGS: the values of all flags, as attributes."""

    def __init__(self):
        self.__dict__["_flags"] = {}
        self.__dict__["_parsed"] = False

    def _define(self, flag):
        # A script that is run again, as in a notebook, defines its flags again.
        self._flags[flag.name] = flag

    def __call__(self, argv, known_only=False):
        """Parses the arguments; gives those that are not flags."""
        rest = [argv[0]] if argv else [""]
        arguments = list(argv[1:])
        self.__dict__["_parsed"] = True
        while arguments:
            argument = arguments.pop(0)
            if argument == "--":
                rest += arguments
                break
            if not argument.startswith("-") or argument == "-":
                rest.append(argument)
                continue
            name, equals, text = argument.lstrip("-").partition("=")
            name = name.replace("-", "_") if name not in self._flags else name
            if name in ("help", "h", "helpfull", "helpshort"):
                print(self._usage(rest[0]))
                raise SystemExit(0)
            self._parse_one(name, equals, text, argument, arguments, rest, known_only)
        return rest

    def _parse_one(self, name, equals, text, argument, arguments, rest, known_only):
        flag = self._flags.get(name)
        if flag is None and name.startswith("no") and not equals:
            other = self._flags.get(name[2:])
            if other is not None and other.kind == "true or false":
                other.set("false")
                return
        if flag is None:
            if known_only:
                rest.append(argument)
                return
            known = ", ".join(f"--{n}" for n in sorted(self._flags)) or "none"
            raise Error(f"there is no flag --{name}; there are {known}")
        if not equals:
            if flag.kind == "true or false":
                text = "true"
            elif arguments:
                text = arguments.pop(0)
            else:
                raise Error(f"flag --{name} needs a value: {flag.kind}")
        flag.set(text)
        self._validate(flag)

    def _validate(self, flag):
        for check, message in flag.validators:
            if not check(flag.value):
                raise Error(f"flag --{flag.name}={flag.value}: {message}")

    def _usage(self, program):
        lines = [f"usage: {program} [flags]"]
        for name, flag in sorted(self._flags.items()):
            lines.append(f"  --{name}: {flag.help} (default: {flag.default!r})")
        return "\n".join(lines)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if not self._parsed:
            # Programs without tf.app.run read flags as soon as they have them.
            self(_sys.argv, known_only=True)
        if name not in self._flags:
            raise AttributeError(f"there is no flag --{name}")
        return self._flags[name].value

    def __setattr__(self, name, value):
        if name not in self._flags:
            raise AttributeError(f"there is no flag --{name}")
        self._flags[name].value = value

    def __delattr__(self, name):
        self._flags.pop(name, None)

    def __contains__(self, name):
        return name in self._flags

    def __iter__(self):
        return iter(self._flags)

    def __getitem__(self, name):
        return self._flags[name]

    def is_parsed(self):
        return self._parsed

    def flag_values_dict(self):
        return {name: flag.value for name, flag in self._flags.items()}

    def mark_as_parsed(self):
        self.__dict__["_parsed"] = True

    def unparse_flags(self):
        self.__dict__["_parsed"] = False


FLAGS = _FlagValues()


def _truth(text):
    if isinstance(text, bool):
        return text
    text = text.lower()
    if text in ("true", "t", "1", "yes"):
        return True
    if text in ("false", "f", "0", "no"):
        return False
    raise ValueError(text)


def _define(name, default, help, parse, kind):
    if isinstance(default, str):
        default = parse(default)
    FLAGS._define(_Flag(name, default, help, parse, kind))


def DEFINE_string(name, default=None, help="", **_):
    _define(name, default, help, str, "a text")


def _bounded(parse, lower, upper, kind):
    """(parse, kind) of numbers between two bounds, which may be None."""

    def checked(text):
        number = parse(text)
        if lower is not None and number < lower or upper is not None and number > upper:
            raise ValueError(text)
        return number

    if lower is not None:
        kind += f", {lower} or more"
    if upper is not None:
        kind += f", {upper} or less"
    return checked, kind


def DEFINE_integer(
    name, default=None, help="", lower_bound=None, upper_bound=None, **_
):
    def parse(text):
        return int(text, 0)

    bounded = _bounded(parse, lower_bound, upper_bound, "a whole number")
    _define(name, default, help, *bounded)


def DEFINE_float(name, default=None, help="", lower_bound=None, upper_bound=None, **_):
    _define(name, default, help, *_bounded(float, lower_bound, upper_bound, "a number"))


def DEFINE_boolean(name, default=None, help="", **_):
    _define(name, default, help, _truth, "true or false")


DEFINE_bool = DEFINE_boolean


def DEFINE_list(name, default=None, help="", **_):
    def parse(text):
        return [x.strip() for x in text.split(",")] if text else []

    _define(name, default, help, parse, "texts with commas between them")


def DEFINE_enum(name, default=None, enum_values=(), help="", **_):
    def parse(text):
        if text not in enum_values:
            raise ValueError(text)
        return text

    _define(name, default, help, parse, f"one of {', '.join(enum_values)}")


def DEFINE_multi_string(name, default=None, help="", **_):
    _define_multi(name, default, help, str, "a text")


def DEFINE_multi_integer(name, default=None, help="", **_):
    _define_multi(name, default, help, int, "a whole number")


def _define_multi(name, default, help, parse, kind):
    given = []

    def add(text):
        given.append(parse(text))
        return list(given)

    if default is not None and not isinstance(default, (list, tuple)):
        default = [default]
    FLAGS._define(_Flag(name, default, help, add, kind))


def mark_flag_as_required(flag_name, flag_values=FLAGS):
    flag_values[flag_name].required = True


def mark_flags_as_required(flag_names, flag_values=FLAGS):
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def register_validator(flag_name, checker, message="the value is not valid", **_):
    FLAGS[flag_name].validators.append((checker, message))


def check_required():
    """An error where a flag that must be given was not."""
    for name in FLAGS:
        flag = FLAGS[name]
        if getattr(flag, "required", False) and flag.value is None:
            raise Error(f"flag --{name} must be given: {flag.kind}")
