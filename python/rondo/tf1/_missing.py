"""What a module of rondo.tf1 says of names that Rondo does not have."""

# What programs can use instead, by the whole name in TensorFlow.
_INSTEAD = {
    "tf.keras": "tf.layers, tf.losses and tf.train",
    "tf.SparseTensor": "dense tensors, or tf.IndexedSlices for gradients",
    "tf.sparse_placeholder": "tf.placeholder",
    "tf.sparse_tensor_to_dense": "dense tensors",
    "tf.TensorArray": "tf.stack of a list, tf.map_fn or tf.nn.dynamic_rnn",
    "tf.strings": "Python's own text; Rondo's graphs have numbers only",
    "tf.string_split": "Python's own text; Rondo's graphs have numbers only",
    "tf.complex64": "two tensors of tf.float32",
    "tf.complex128": "two tensors of tf.float64",
    "tf.enable_eager_execution": "graphs and tf.Session",
    "tf.GradientTape": "tf.gradients",
    "tf.function": "graphs and tf.Session",
    "tf.distribute": "tf.train.replica_device_setter, or `rondo run`",
    "tf.lite": "the checkpoint, a safetensors file that other programs read",
    "tf.nn.ctc_loss": "a py_func with custom_gradient",
    "tf.train.AdagradDAOptimizer": "tf.train.AdagradOptimizer",
    "tf.train.ProximalAdagradOptimizer": "tf.train.FtrlOptimizer",
    "tf.train.ProximalGradientDescentOptimizer": "tf.train.FtrlOptimizer",
    "tf.contrib.learn": "tf.estimator",
    "tf.contrib.slim.learning": "tf.train.MonitoredTrainingSession",
    "tf.contrib.tpu": "nothing: Rondo runs on CPUs",
    "tf.contrib.eager": "graphs and tf.Session",
    "tf.contrib.keras": "tf.layers",
    "tf.parse_example": "tf.parse_single_example, and batch what it gives",
    "tf.graph_util": "tf.train.Saver",
}


def getattr_of(module):
    """The `__getattr__` of a module that TensorFlow calls `module`."""

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(name)
        whole = f"{module}.{name}"
        instead = _INSTEAD.get(whole)
        hint = f"; use {instead}" if instead else "; docs/tf1.md lists what there is"
        raise AttributeError(f"Rondo does not have {whole}{hint}")

    return __getattr__


def explain(module):
    """For an import of a module that is not there."""
    instead = _INSTEAD.get(module.replace("tensorflow", "tf", 1))
    return f"; use {instead}" if instead else ""
