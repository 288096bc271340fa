"""How tensors are made smaller on their way."""

import torch


class Compressor:
    """compress gives what is sent and what decompress needs to know."""

    @staticmethod
    def compress(tensor):
        raise NotImplementedError

    @staticmethod
    def decompress(tensor, ctx):
        raise NotImplementedError


class NoneCompressor(Compressor):
    """As they are."""

    @staticmethod
    def compress(tensor):
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        return tensor


def _to(dtype, doc):
    class Cast(Compressor):
        @staticmethod
        def compress(tensor):
            if not tensor.is_floating_point():
                return tensor, None
            return tensor.to(dtype), tensor.dtype

        @staticmethod
        def decompress(tensor, ctx):
            return tensor if ctx is None else tensor.to(ctx)

    Cast.__doc__ = doc
    return Cast


class Compression:
    """The kinds: `compression=hvd.Compression.fp16`."""

    none = NoneCompressor
    fp16 = _to(torch.float16, "Floats travel as float16; sums are made in float32.")
    bf16 = _to(torch.bfloat16, "Floats travel as bfloat16; sums are made in float32.")
