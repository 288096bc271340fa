"""horovod.torch.compression."""

from .horovod.compression import Compression, Compressor, NoneCompressor

FP16Compressor = Compression.fp16

__all__ = ["Compression", "Compressor", "FP16Compressor", "NoneCompressor"]
