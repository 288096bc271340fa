"""Scripts in the manner of TensorFlow 1's tutorials, each with its import changed
and unchanged."""

import glob

import pytest

# The longest takes a few seconds on a machine that has nothing else to do.
pytestmark = pytest.mark.timeout(300)


def falls(ran, factor=1.0):
    """Whether the loss fell."""
    assert ran.number("Last loss") < factor * ran.number("First loss"), ran.out


def test_basic_operations(run_script):
    ran = run_script("basic_operations")
    assert "b'Hello, TensorFlow!'" in ran.out
    assert "Addition with constants: 5" in ran.out
    assert "Multiplication with variables: 6" in ran.out
    assert ran.text("Product") == "[[12.]]"
    assert ran.text("Counter") == "3"
    assert ran.text("Static shape") == "[None, 4] 4 None"
    assert ran.text("Means") == "[[1.5], [5.5]]"
    assert ran.text("Largest") == "[3, 3]"
    assert ran.text("Rows") == "[0, 2]"
    assert ran.text("Loop") == "12"
    assert ran.text("Branch") == "1 -1"


def test_linear_regression(run_script):
    ran = run_script("linear_regression")
    assert ran.number("Training cost") < 0.2


def test_logistic_regression(run_script, mnist):
    ran = run_script("logistic_regression", mnist)
    assert ran.number("Accuracy") > 0.9


def test_nearest_neighbor(run_script, mnist):
    assert run_script("nearest_neighbor", mnist).number("Accuracy") > 0.9


def test_mnist_softmax(run_script, mnist):
    ran = run_script("mnist_softmax", "--data_dir", mnist, "--steps", 60)
    assert ran.number("Accuracy") > 0.9


def test_mnist_deep(run_script, mnist):
    ran = run_script("mnist_deep", f"--data_dir={mnist}", "--steps=60")
    assert ran.number("Accuracy") > 0.8


def test_recurrent_network(run_script, mnist):
    assert run_script("recurrent_network", mnist, 50).number("Accuracy") > 0.7


def test_dynamic_rnn(run_script):
    falls(run_script("dynamic_rnn", 60), 0.8)


def test_bidirectional_rnn(run_script, mnist):
    ran = run_script("bidirectional_rnn", mnist, 40)
    assert ran.text("Both directions") == "[None, 28, 48]"
    falls(ran, 0.5)
    assert ran.number("Accuracy") > 0.7


def test_autoencoder(run_script, mnist):
    ran = run_script("autoencoder", mnist, 200)
    falls(ran, 0.9)
    assert ran.text("Reconstructed") == "(4, 784)"


def test_word2vec(run_script):
    ran = run_script("word2vec", 400)
    falls(ran, 0.5)
    assert ran.text("Similarity") == "(4, 30)"


def test_gan(run_script, mnist):
    ran = run_script("gan", mnist, 100)
    falls(ran, 0.8)
    assert ran.text("Made") == "(4, 784) True"


def test_dcgan(run_script, mnist):
    ran = run_script("dcgan", mnist, 12)
    # Kernel and bias of each layer, gamma and beta of each normalization.
    assert ran.text("Variables") == "10 10"
    # Mean and variance; the discriminator is built twice.
    assert ran.text("Updates") == "4 8"
    falls(ran)
    assert ran.text("Moving averages changed") == "True"
    assert ran.text("Made") == "(16, 28, 28, 1)"


def test_save_restore(run_script, mnist, tmp_path):
    (tmp_path / "model").mkdir()
    ran = run_script("save_restore", mnist, tmp_path / "model")
    assert ran.text("Model saved in file") == "model.ckpt-30"
    assert ran.text("Restored the same") == "True"
    assert ran.text("Steps") == "90"
    assert ran.text("Checkpoints") == "2"
    assert ran.number("Accuracy") > 0.9
    assert ran.text("Imported the same") == "True"


def events_of(folder):
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    )
    events = accumulator.EventAccumulator(str(folder))
    events.Reload()
    return events


def test_tensorboard_basic(run_script, mnist, tmp_path):
    ran = run_script("tensorboard_basic", mnist, tmp_path / "logs")
    falls(ran)
    events = events_of(tmp_path / "logs")
    assert len(events.Scalars("loss")) == len(events.Scalars("accuracy")) == 40
    assert events.Scalars("extra")[0].value == 0.5
    assert events.Graph() is not None


def test_mnist_with_summaries(run_script, mnist, tmp_path):
    logs = tmp_path / "logs"
    ran = run_script(
        "mnist_with_summaries", f"--data_dir={mnist}", f"--log_dir={logs}",
        "--max_steps=40",
    )  # fmt: skip
    assert ran.number("Accuracy") > 0.8
    tags = events_of(logs / "train").Tags()
    assert "layer1/weights/summaries/mean" in tags["scalars"]
    assert "layer1/activations" in tags["histograms"]
    assert any(tag.startswith("input_reshape/input") for tag in tags["images"])
    assert "accuracy_1" in events_of(logs / "test").Tags()["scalars"]


def test_towers(run_script, mnist):
    ran = run_script("towers", mnist, 30)
    assert ran.text("Variables") == "8"
    assert ran.text("Devices of the losses") == "/cpu:0 /cpu:1"
    falls(ran, 0.7)
    assert ran.number("Accuracy") > 0.7


def test_queue_input(run_script, mnist, tmp_path):
    ran = run_script("queue_input", mnist, tmp_path)
    assert ran.text("Records") == "100"
    assert "Done training for 60 steps." in ran.out
    falls(ran, 0.5)
    assert ran.text("Sum of lines") == "67.5 b'n9'"
    assert ran.text("Doubled") == "True"
    assert ran.text("Sum of rows") == "45.0"


def test_estimator_cnn(run_script, mnist, tmp_path):
    ran = run_script(
        "estimator_cnn", f"--data_dir={mnist}", f"--model_dir={tmp_path / 'model'}",
        "--steps=60",
    )  # fmt: skip
    assert ran.number("Accuracy") > 0.8
    assert ran.text("Steps") == "60"
    assert ran.text("Predicted") == "10 (10,)"
    assert ran.text("Steps in all") == "65"
    assert "Saving checkpoints for 60" in ran.err
    assert glob.glob(str(tmp_path / "model" / "eval" / "*tfevents*"))


def test_estimator_canned(run_script):
    ran = run_script("estimator_canned")
    assert ran.number("Linear accuracy") > 0.9
    assert ran.number("DNN accuracy") > 0.85
    assert ran.text("Prediction").endswith("(3,)")
    assert ran.number("Wide accuracy") > 0.85
    assert ran.number("Regression loss") < 100


def test_supervisor(run_script, mnist, tmp_path):
    ran = run_script("supervisor", mnist, tmp_path / "logs")
    begins = [x for x in ran.out.splitlines() if x.startswith("Begins at step")]
    assert begins == ["Begins at step: 0", "Begins at step: 40"]
    assert ran.number("Loss") < 1.5
    assert ran.text("Events") == ran.text("Stopped") == "True"
    assert ran.text("Managed") == "1.0"


def test_monitored_session(run_script, mnist, tmp_path):
    ran = run_script("monitored_session", mnist, tmp_path / "run")
    assert ran.text("Ran") == "40 True 40"
    falls(ran, 0.5)
    assert ran.text("Ran again") == "20 True 60"
    assert ran.text("Goes on") == "True"
    assert ran.text("Checkpoint") == "model.ckpt-60"
    assert ran.number("Accuracy") > 0.9
    scalars = events_of(tmp_path / "run").Tags()["scalars"]
    assert "loss" in scalars


def test_slim_lenet(run_script, mnist):
    ran = run_script("slim_lenet", mnist, 40)
    assert ran.text("Regularizers") == "4"
    falls(ran, 0.5)
    assert ran.number("Accuracy") > 0.8
    assert ran.text("Average name") == "conv1/weights/ExponentialMovingAverage"
