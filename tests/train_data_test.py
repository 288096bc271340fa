"""`rondo train` with data of each kind."""

import PIL.Image
import pytest
from ranks import RONDO, rondo_run
from trainings import accuracy, losses, rondo_train


def test_text_and_bf16_on_the_wire(tmp_path):
    text = tmp_path / "text"
    text.write_text("To be, or not to be, that is the question. " * 200)
    options = ["--steps", 3, "--optimizer", "adam"]
    alone = losses(rondo_train("gpt", *options, data=text))
    both = ["-n", 2, "--wire", "bf16", "--strategy", "allreduce"]
    together = losses(rondo_train("gpt", *options, *both, data=text))
    assert together == pytest.approx(alone, rel=0.02)
    # Rounded, so not the very same.
    assert together[3] != alone[3]


def write_images(folder, count):
    """Two classes: images that are bright above, and on the left."""
    for name, box in (("above", (0, 0, 90, 30)), ("left", (0, 0, 30, 90))):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            image = PIL.Image.new("RGB", (60 + i, 60), (i, 2 * i, 0))
            image.paste((200, 210, 220), box)
            image.save(folder / name / f"{i}.{'png' if i % 2 else 'jpg'}")


def test_a_folder_of_images(tmp_path):
    write_images(tmp_path / "train", 20)
    write_images(tmp_path / "test", 5)
    options = ["--steps", 12, "--batch", 8, "--lr", 0.01]
    alone = rondo_train("mlp", *options, data=tmp_path)
    together = rondo_train("mlp", *options, "-n", 2, data=tmp_path)
    assert losses(together) == pytest.approx(losses(alone), abs=2e-4)
    assert accuracy(alone) > 95
    wrong = tmp_path / "train" / "left" / "x.png"
    wrong.write_text("text")
    done = rondo_train("mlp", *options, data=tmp_path)
    assert done.returncode == 1 and f'"{wrong}" is neither a JPEG' in done.stderr


def test_workers_with_other_files_do_not_train(tmp_path):
    for rank in range(2):
        write_images(tmp_path / str(rank), 10)
    lost = tmp_path / "1" / "left" / "0.jpg"
    lost.unlink()
    train = f"exec {RONDO} train mlp --steps 2 --batch 4 --data {tmp_path}/$RONDO_RANK"
    done = rondo_run("-n", 2, "--", "sh", "-c", train)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "rank 1 has other data in" in done.stderr
    assert "17 examples to train on and 2 to test with" in done.stderr
    assert "rank 0 has 18 and 2" in done.stderr


def test_fashion_mnist():
    done = rondo_train(
        "mlp", "--steps", 40, "--batch", 128, "-n", 2, data="fashion-mnist"
    )
    assert len(losses(done)) == 40
    assert accuracy(done) > 60


def write_idx(folder, pixels=8):
    """Two images of two by two pixels to train on, and two to test with."""
    folder.mkdir()
    for part in ("train", "t10k"):
        images = folder / f"{part}-images-idx3-ubyte"
        images.write_bytes(b"\0\0\x08\x03" + b"\0\0\0\x02" * 3 + bytes(pixels))
        labels = folder / f"{part}-labels-idx1-ubyte"
        labels.write_bytes(b"\0\0\x08\x01\0\0\0\x02\0\x01")
    return folder


def refused(model, data):
    """What is said of these data."""
    done = rondo_train(model, data=data)
    assert done.returncode != 0, done.stdout
    return done.stderr


def test_data_that_cannot_be_read_are_named(tmp_path):
    assert "no such file or folder" in refused("mlp", "no/such")
    assert "is cut off" in refused("vgg16", write_idx(tmp_path / "cut", pixels=7))
    whole = write_idx(tmp_path / "whole")
    assert f"gpt takes text, and {whole} is images" in refused("gpt", whole)
