"""ElasticSampler: parts of a data set for ranks whose number changes."""

import math
import random

import torch.utils.data

from .. import basics


class ElasticSampler(torch.utils.data.Sampler):
    """Like DistributedSampler; after record_batch() what was processed is known,
    and what is left of the epoch is divided anew among the ranks that are left.

    It belongs into the TorchState. set_epoch() is called at the end of an epoch.
    """

    def __init__(self, dataset, shuffle=True, seed=0):
        self.dataset = dataset
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0
        self.processed_num = 0
        self.reset()

    def set_epoch(self, epoch):
        """Begins another epoch, of which nothing is processed."""
        self.epoch = epoch
        self.processed_num = 0
        self.reset()

    def record_batch(self, batch_idx, batch_size):
        """Says that each rank has processed so many samples."""
        del batch_idx
        self.processed_num += batch_size * self.num_replicas

    def state_dict(self):
        return {"epoch": self.epoch, "processed_num": self.processed_num}

    def load_state_dict(self, state_dict):
        self.epoch = state_dict["epoch"]
        self.processed_num = state_dict["processed_num"]
        self.reset()

    def reset(self):
        """Divides what is left among the ranks that there are now."""
        self.num_replicas = basics.size()
        self.rank = basics.rank()
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            random.Random(self.seed + self.epoch).shuffle(indices)
        self.remaining_indices = indices[self.processed_num :]
        self.num_samples = math.ceil(len(self.remaining_indices) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self):
        indices = list(self.remaining_indices)
        if indices:  # some twice, so that all ranks have as many
            more = math.ceil(self.total_size / len(indices))
            indices = (indices * more)[: self.total_size]
        return iter(indices[self.rank :: self.num_replicas])

    def __len__(self):
        return self.num_samples
