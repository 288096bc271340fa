"""What ends a command, and the code that it then exits with."""


class LabError(Exception):
    code = 1  # that the script exits with


class UsageError(LabError):
    code = 2  # as other commands do, when they are asked for what cannot be


class ProgramError(LabError):
    code = 127  # as a shell does, and `rondo run`
