"""Input by queues: what queue runners fill, and batches taken from it.

Start the threads with rondo.train.start_queue_runners. rondo.data does the same
with less to go wrong.
"""

import os

import numpy as np

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor
from ..framework.graph import GraphKeys, get_default_graph
from ..framework.queue_runner import QueueRunner, add_queue_runner
from ..framework.variable import Variable
from ..ops import array, math
from ..ops.queue import FIFOQueue, RandomShuffleQueue
from ..ops.random import random_shuffle


def limit_epochs(tensor, num_epochs=None, name=None):
    """The tensor, so many times; then OutOfRangeError. The count is a local
    variable."""
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise InvalidArgumentError(f"limit_epochs: num_epochs is {num_epochs}")
    tensor = convert_to_tensor(tensor)
    with tensor.graph.name_scope(name or "limit_epochs"):
        count = Variable(
            convert_to_tensor(np.int64(0)),
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
            name="epochs",
        )
        with tensor.graph.control_dependencies([count.count_up_to(num_epochs)]):
            return array.identity(tensor)


def input_producer(
    input_tensor,
    element_shape=None,
    num_epochs=None,
    shuffle=True,
    seed=None,
    capacity=32,
    shared_name=None,
    summary_name=None,
    name=None,
    cancel_op=None,
):
    """A queue of the rows of a tensor, again and again, or num_epochs times."""
    rows = convert_to_tensor(input_tensor)
    with rows.graph.name_scope(name or "input_producer"):
        if shuffle:
            rows = random_shuffle(rows, seed)
        rows = limit_epochs(rows, num_epochs)
        shape = rows.shape[1:] if element_shape is None else element_shape
        queue = FIFOQueue(capacity, [rows.dtype], [shape], shared_name=shared_name)
        put = queue.enqueue_many([rows])
        add_queue_runner(QueueRunner(queue, [put], cancel_op=cancel_op))
        return queue


def range_input_producer(
    limit,
    num_epochs=None,
    shuffle=True,
    seed=None,
    capacity=32,
    shared_name=None,
    name=None,
):
    """A queue of the numbers below `limit`."""
    return input_producer(
        math.range(limit), [], num_epochs, shuffle, seed, capacity, shared_name,
        name=name or "input_producer",
    )  # fmt: skip


def slice_input_producer(
    tensor_list,
    num_epochs=None,
    shuffle=True,
    seed=None,
    capacity=32,
    shared_name=None,
    name=None,
):
    """One row of each of the tensors, which have as many rows."""
    tensors = [convert_to_tensor(x) for x in tensor_list]
    if not tensors:
        raise InvalidArgumentError("slice_input_producer: there are no tensors")
    with tensors[0].graph.name_scope(name or "input_producer"):
        count = tensors[0].shape[0]
        if count is None:
            count = array.shape(tensors[0])[0]
        queue = range_input_producer(
            count, num_epochs, shuffle, seed, capacity, shared_name
        )
        index = queue.dequeue()
        return [array.gather(x, index) for x in tensors]


def string_input_producer(
    string_tensor,
    num_epochs=None,
    shuffle=True,
    seed=None,
    capacity=32,
    shared_name=None,
    name=None,
    cancel_op=None,
):
    """A queue of texts, such as the names of files: vectors of uint8."""
    texts = [os.fsencode(x) for x in string_tensor]
    if not texts:
        raise InvalidArgumentError("string_input_producer: there are no texts")
    graph = get_default_graph()
    with graph.name_scope(name or "input_producer"):
        numbers = range_input_producer(len(texts), num_epochs, shuffle, seed, capacity)
        queue = FIFOQueue(capacity, ["uint8"], shared_name=shared_name)
        # Texts differ in length, so they lie behind each other in one tensor.
        ends = np.cumsum([len(t) for t in texts], dtype=np.int64)
        all_of_them = convert_to_tensor(np.frombuffer(b"".join(texts), np.uint8))
        number = numbers.dequeue()
        end = array.gather(convert_to_tensor(ends), number)
        starts = convert_to_tensor(np.concatenate([[0], ends[:-1]]))
        text = all_of_them[array.gather(starts, number) : end]
        put = queue.enqueue([text])
        add_queue_runner(QueueRunner(queue, [put], cancel_op=cancel_op))
        return queue


def batch(
    tensors,
    batch_size,
    num_threads=1,
    capacity=32,
    enqueue_many=False,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """Batches of what `tensors`, a list or dict, are in one run after another."""
    return batch_join(
        [tensors] * num_threads, batch_size, capacity, enqueue_many, shapes,
        dynamic_pad, allow_smaller_final_batch, shared_name, name or "batch",
    )  # fmt: skip


def batch_join(
    tensors_list,
    batch_size,
    capacity=32,
    enqueue_many=False,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """As batch, with a thread for each of several lists of tensors."""
    return _batched(
        tensors_list, batch_size, enqueue_many, shapes,
        allow_smaller_final_batch, name or "batch_join",
        lambda dtypes, shapes: FIFOQueue(
            capacity, dtypes, shapes, shared_name=shared_name
        ),
        dynamic_pad=dynamic_pad,
    )  # fmt: skip


def shuffle_batch(
    tensors,
    batch_size,
    capacity,
    min_after_dequeue,
    num_threads=1,
    seed=None,
    enqueue_many=False,
    shapes=None,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """As batch, in random order: drawn from at least min_after_dequeue elements."""
    return shuffle_batch_join(
        [tensors] * num_threads, batch_size, capacity, min_after_dequeue, seed,
        enqueue_many, shapes, allow_smaller_final_batch, shared_name,
        name or "shuffle_batch",
    )  # fmt: skip


def shuffle_batch_join(
    tensors_list,
    batch_size,
    capacity,
    min_after_dequeue,
    seed=None,
    enqueue_many=False,
    shapes=None,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """As shuffle_batch, with a thread for each of several lists of tensors."""
    return _batched(
        tensors_list, batch_size, enqueue_many, shapes,
        allow_smaller_final_batch, name or "shuffle_batch_join",
        lambda dtypes, shapes: RandomShuffleQueue(
            capacity, min_after_dequeue, dtypes, shapes, seed=seed,
            shared_name=shared_name,
        ),
    )  # fmt: skip


def _batched(
    sources, batch_size, many, shapes, smaller, name, make_queue, dynamic_pad=False
):
    if dynamic_pad:
        raise InvalidArgumentError(
            f"{name}: dynamic_pad is not supported; use rondo.data's padded_batch"
        )
    if not sources:
        raise InvalidArgumentError(f"{name}: there is nothing to take batches from")
    # TensorFlow takes one tensor for a list of one, and gives one back.
    single = hasattr(sources[0], "graph")
    sources = [_components([x] if single else x) for x in sources]
    keys, first = sources[0]
    with first[0].graph.name_scope(name):
        dtypes = [x.dtype for x in first]
        if shapes is None:
            shapes = [x.shape[1:] if many else x.shape for x in first]
        for x, shape in zip(first, shapes):  # noqa: B905
            if not _known(shape):
                raise InvalidArgumentError(
                    f'{name}: the shape of "{x.name}", {shape}, must be known; call '
                    "set_shape, or pass shapes"
                )
        queue = make_queue(dtypes, shapes)
        put = queue.enqueue_many if many else queue.enqueue
        add_queue_runner(QueueRunner(queue, [put(x) for _, x in sources]))
        take = queue.dequeue_up_to if smaller else queue.dequeue_many
        got = take(batch_size)
    got = got if isinstance(got, list) else [got]
    if keys is None:
        return got[0] if single else got
    return dict(zip(keys, got))  # noqa: B905


def _known(shape):
    return shape is not None and all(d is not None for d in shape)


def _components(tensors):
    if isinstance(tensors, dict):
        return list(tensors), [convert_to_tensor(x) for x in tensors.values()]
    return None, [convert_to_tensor(x) for x in tensors]


def match_filenames_once(pattern, name=None):
    """The names of the files that match a pattern, now: a list."""
    import glob

    patterns = [pattern] if isinstance(pattern, str) else list(pattern)
    found = sorted(f for p in patterns for f in glob.glob(p))
    if not found:
        raise InvalidArgumentError(f"match_filenames_once: no file matches {pattern!r}")
    return found


__all__ = [
    "batch",
    "batch_join",
    "input_producer",
    "limit_epochs",
    "match_filenames_once",
    "range_input_producer",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "string_input_producer",
]
