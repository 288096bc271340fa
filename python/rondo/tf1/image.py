"""tf.image: as much as programs that train on images use."""

import rondo as rd

from ..errors import InvalidArgumentError
from ..framework.build import convert_to_tensor as _convert
from ._missing import getattr_of

__getattr__ = getattr_of("tf.image")


def _axes(image):
    """Of height and width."""
    rank = image.shape.ndims
    if rank not in (3, 4):
        raise InvalidArgumentError(
            f"an image of shape {image.shape}; expected [height, width, channels], or "
            "a batch of those"
        )
    return rank - 3, rank - 2


def flip_left_right(image):
    """Left and right swapped."""
    image = _convert(image)
    return rd.reverse(image, [_axes(image)[1]])


def flip_up_down(image):
    """Up and down swapped."""
    image = _convert(image)
    return rd.reverse(image, [_axes(image)[0]])


def transpose_image(image):
    """Height and width swapped."""
    return rd.transpose(image, [1, 0, 2])


def rot90(image, k=1, name=None):
    """Turned k times by 90 degrees, against the clock."""
    for _ in range(k % 4):
        image = flip_up_down(transpose_image(image))
    return image


def _maybe(function, image, seed):
    image = _convert(image)
    heads = rd.less(rd.random_uniform([], seed=seed), 0.5)
    made = rd.cond(heads, lambda: function(image), lambda: rd.identity(image))
    made.set_shape(image.shape)
    return made


def random_flip_left_right(image, seed=None):
    """flip_left_right, half of the time."""
    return _maybe(flip_left_right, image, seed)


def random_flip_up_down(image, seed=None):
    """flip_up_down, half of the time."""
    return _maybe(flip_up_down, image, seed)


def adjust_brightness(image, delta):
    """delta added to all."""
    return rd.add(_convert(image), delta)


def random_brightness(image, max_delta, seed=None):
    """A number between -max_delta and max_delta added to all."""
    delta = rd.random_uniform([], -max_delta, max_delta, seed=seed)
    return rd.add(_convert(image), delta)


def adjust_contrast(images, contrast_factor):
    """The distance of each channel from its mean, times a factor."""
    images = _convert(images)
    mean = rd.reduce_mean(images, list(_axes(images)), keepdims=True)
    return (images - mean) * contrast_factor + mean


def random_contrast(image, lower, upper, seed=None):
    """adjust_contrast by a factor between the two."""
    return adjust_contrast(image, rd.random_uniform([], lower, upper, seed=seed))


def per_image_standardization(image):
    """Each image with mean 0 and variance 1."""
    image = rd.cast(_convert(image), "float32")
    axes = [*_axes(image), image.shape.ndims - 1]
    mean = rd.reduce_mean(image, axes, keepdims=True)
    variance = rd.reduce_mean(rd.square(image - mean), axes, keepdims=True)
    count = 1.0
    for axis in axes:
        extent = image.shape[axis]
        if extent is None:
            extent = rd.cast(rd.shape(image)[axis], "float32")
        count = count * extent
    least = 1.0 / rd.sqrt(rd.cast(count, "float32"))
    return (image - mean) / rd.maximum(rd.sqrt(variance), least)


per_image_whitening = per_image_standardization


def convert_image_dtype(image, dtype, saturate=False, name=None):
    """Scaled so that the largest value of one type is that of the other; 1 for
    floating point."""
    import numpy as np

    image, kind = _convert(image), rd.as_dtype(dtype)
    if image.dtype == kind:
        return image
    if image.dtype.is_integer and kind.is_floating:
        scale = float(np.iinfo(image.dtype.as_numpy_dtype).max)
        return rd.divide(rd.cast(image, kind), scale, name)
    if image.dtype.is_floating and kind.is_integer:
        limit = float(np.iinfo(kind.as_numpy_dtype).max)
        scaled = image * (limit + 0.5)
        if saturate:
            scaled = rd.minimum(rd.maximum(scaled, 0.0), limit)
        return rd.cast(scaled, kind, name)
    if image.dtype.is_integer and kind.is_integer:
        old, new = (int(np.iinfo(k.as_numpy_dtype).max) for k in (image.dtype, kind))
        if old > new:
            factor = image.dtype.as_numpy_dtype((old + 1) // (new + 1))
            return rd.cast(rd.floordiv(image, factor), kind, name)
        factor = kind.as_numpy_dtype((new + 1) // (old + 1))
        return rd.multiply(rd.cast(image, kind), factor, name)
    return rd.cast(image, kind, name)


def rgb_to_grayscale(images, name=None):
    """The brightness of red, green and blue."""
    images = _convert(images)
    weights = rd.constant([0.2989, 0.587, 0.114])
    gray = rd.reduce_sum(rd.cast(images, "float32") * weights, -1, keepdims=True)
    return rd.cast(gray, images.dtype, name)


def grayscale_to_rgb(images, name=None):
    """The same three times."""
    images = _convert(images)
    return rd.concat([images] * 3, images.shape.ndims - 1)


def crop_to_bounding_box(image, offset_height, offset_width, target_height,
                         target_width):  # fmt: skip
    """The part of this size at this place."""
    image = _convert(image)
    height, width = _axes(image)
    begin, size = [0] * image.shape.ndims, [-1] * image.shape.ndims
    begin[height], size[height] = offset_height, target_height
    begin[width], size[width] = offset_width, target_width
    return rd.slice(image, begin, size)


def pad_to_bounding_box(image, offset_height, offset_width, target_height,
                        target_width):  # fmt: skip
    """Zeros around, so that the image is at this place of one of this size."""
    image = _convert(image)
    height, width = _axes(image)
    paddings = [[0, 0] for _ in range(image.shape.ndims)]
    for axis, offset, target in (
        (height, offset_height, target_height),
        (width, offset_width, target_width),
    ):
        extent = image.shape[axis]
        if extent is None:
            raise InvalidArgumentError(
                f"pad_to_bounding_box: the size of an image {image.shape} is not known"
            )
        paddings[axis] = [offset, target - offset - int(extent)]
    return rd.pad(image, paddings)


def resize_image_with_crop_or_pad(image, target_height, target_width):
    """Cut or padded around its middle."""
    image = _convert(image)
    height, width = _axes(image)
    rows, columns = image.shape[height], image.shape[width]
    if rows is None or columns is None:
        raise InvalidArgumentError(
            "resize_image_with_crop_or_pad: the size of an image "
            f"{image.shape} is not known"
        )
    keep = min(rows, target_height), min(columns, target_width)
    image = crop_to_bounding_box(
        image, (rows - keep[0]) // 2, (columns - keep[1]) // 2, *keep
    )
    return pad_to_bounding_box(
        image, (target_height - keep[0]) // 2, (target_width - keep[1]) // 2,
        target_height, target_width,
    )  # fmt: skip


class ResizeMethod:
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = 0, 1, 2, 3


def resize_nearest_neighbor(images, size, align_corners=False, name=None):
    """To another size; each point is the nearest one."""
    images = _convert(images)
    for axis, extent in zip(_axes(images), size):  # noqa: B905
        old = rd.cast(rd.shape(images)[axis], "float32")
        scale = old / float(extent)
        if align_corners and extent > 1:
            scale = (old - 1.0) / float(extent - 1)
        at = rd.cast(rd.range(int(extent)), "float32") * scale
        at = rd.round(at) if align_corners else rd.floor(at)
        images = rd.gather(images, rd.cast(at, "int64"), axis)
    return rd.identity(images, name)


def resize_bilinear(images, size, align_corners=False, name=None):
    """To another size; each point is a mixture of its neighbours."""
    images = rd.cast(_convert(images), "float32")
    for axis, extent in zip(_axes(images), size):  # noqa: B905
        old = rd.cast(rd.shape(images)[axis], "float32")
        scale = old / float(extent)
        if align_corners and extent > 1:
            scale = (old - 1.0) / float(extent - 1)
        at = rd.cast(rd.range(int(extent)), "float32") * scale
        low = rd.floor(at)
        high = rd.minimum(low + 1.0, old - 1.0)
        shape = [1] * images.shape.ndims
        shape[axis] = int(extent)
        part = rd.reshape(at - low, shape)
        first = rd.gather(images, rd.cast(low, "int64"), axis)
        second = rd.gather(images, rd.cast(high, "int64"), axis)
        images = first * (1.0 - part) + second * part
    return rd.identity(images, name)


def resize_images(images, size, method=ResizeMethod.BILINEAR, align_corners=False,
                  preserve_aspect_ratio=False):  # fmt: skip
    """To another size."""
    if preserve_aspect_ratio:
        raise InvalidArgumentError(
            "resize_images: preserve_aspect_ratio is not supported; give the size that "
            "keeps it"
        )
    if method == ResizeMethod.NEAREST_NEIGHBOR:
        return resize_nearest_neighbor(images, size, align_corners)
    if method == ResizeMethod.BILINEAR:
        return resize_bilinear(images, size, align_corners)
    raise InvalidArgumentError("resize_images: only BILINEAR and NEAREST_NEIGHBOR")


resize = resize_images
