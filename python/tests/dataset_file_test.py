"""Data sets of files: lines, records of one length, TFRecords."""

import gzip
import struct

import numpy as np
import pytest
from rondo.data import (
    Dataset,
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
)

import rondo as rd

pytestmark = pytest.mark.usefixtures("new_graph")


def values(dataset):
    return [np.asarray(x).tolist() for x in dataset]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    head = struct.pack("<Q", len(data))
    return (
        head + struct.pack("<I", crc32c(head)) + data + struct.pack("<I", crc32c(data))
    )


def texts(dataset):
    return [x.tobytes() for x in dataset]


def test_text_lines(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\r\n\n")
    (tmp_path / "b.txt").write_text("three")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"four\nfive\n"))
    one = TextLineDataset(str(tmp_path / "a.txt"))
    assert texts(one) == [b"one", b"two", b""]
    both = TextLineDataset([tmp_path / "a.txt", tmp_path / "b.txt"])
    assert texts(both) == [b"one", b"two", b"", b"three"]
    packed = TextLineDataset(tmp_path / "c.txt.gz", "GZIP")
    assert texts(packed) == [b"four", b"five"]
    files = Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
    assert texts(files) == [bytes(tmp_path / "a.txt"), bytes(tmp_path / "b.txt")]
    assert texts(TextLineDataset(files.skip(1))) == [b"three"]
    turns = files.interleave(TextLineDataset, cycle_length=2)
    assert texts(turns) == [b"one", b"three", b"two", b""]
    shuffled = Dataset.list_files(str(tmp_path / "*"), seed=1)
    assert sorted(texts(shuffled)) == sorted(map(bytes, tmp_path.iterdir()))


def test_fixed_length_records(tmp_path):
    images = np.arange(24, dtype=np.uint8).reshape(2, 12)
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(b"#" * 16 + images.tobytes()))
    dataset = FixedLengthRecordDataset(path, 12, 16, compression_type="GZIP")
    assert dataset.output_shapes == rd.TensorShape([12])
    assert values(dataset) == images.tolist()
    floats = dataset.map(lambda x: rd.cast(rd.reshape(x, [3, 4]), rd.float32) / 2)
    assert floats.output_shapes == rd.TensorShape([3, 4])
    assert np.array_equal(list(floats), images.reshape(2, 3, 4) / 2)
    with pytest.raises(rd.InvalidArgumentError, match="compression_type"):
        FixedLengthRecordDataset(path, 12, compression_type="ZIP")
    with pytest.raises(rd.InvalidArgumentError, match="record_bytes"):
        FixedLengthRecordDataset(path, 0)


def test_tf_records(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(record(b"hello") + record(b"") + record(b"world"))
    assert texts(TFRecordDataset(path)) == [b"hello", b"", b"world"]


def test_bad_files(tmp_path):
    def message(dataset):
        with pytest.raises(rd.InvalidArgumentError) as e:
            list(dataset)
        assert str(tmp_path) in str(e.value)
        return str(e.value)

    path = tmp_path / "a"
    assert "No such file" in message(TextLineDataset(path))
    path.write_bytes(record(b"hello")[:-1])
    assert "record at offset 0 is cut off" in message(TFRecordDataset(path))
    path.write_bytes(record(b"hello").replace(b"hello", b"hallo"))
    assert "checksum of its data" in message(TFRecordDataset(path))
    assert "at offset 20 is cut off" in message(FixedLengthRecordDataset(path, 20))
    assert "not a gzip file" in message(TextLineDataset(path, "GZIP"))
    assert "no file matches" in message(Dataset.list_files(str(tmp_path / "x*")))
