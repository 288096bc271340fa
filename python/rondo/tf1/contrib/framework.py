"""tf.contrib.framework."""

from ...framework.graph import GraphKeys, get_collection
from ...train import (  # noqa: F401
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    list_variables,
    load_checkpoint,
    load_variable,
)
from .._missing import getattr_of
from .arg_scope import add_arg_scope, arg_scope  # noqa: F401

__getattr__ = getattr_of("tf.contrib.framework")


def get_variables(scope=None, suffix=None, collection=GraphKeys.GLOBAL_VARIABLES):
    """The variables of a scope."""
    found = get_collection(collection, getattr(scope, "name", scope))
    return [v for v in found if suffix is None or v.op.name.endswith(suffix)]


def get_trainable_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_to_restore(include=None, exclude=None):
    """All variables of some scopes, without those of others."""
    found = []
    for scope in include or [None]:
        found += get_variables(scope)
    return [
        v
        for v in found
        if not any(v.op.name.startswith(scope) for scope in exclude or ())
    ]
