"""PyTorch's DataLoader over clips or sounds, for the libraries that decode them. It has one process for each thread of the
others."""
import clips
import torch
from own_daemon import MEAN, SIDE, STD
from torchvision.transforms import v2

torch.set_num_threads(1)  # of each process


class Clips(torch.utils.data.Dataset):
    """`frames_of(path, draw)` returns the frames of one video as uint8 [frames, 3, height, width]. It gives the number of the
    video's frames to `draw`, and takes from it the numbers of the frames that are wanted."""

    def __init__(self, job, frames_of):
        self.job, self.frames_of = job, frames_of
        mean, std = ([255 * value for value in values] for values in (MEAN, STD))  # scales and normalises at once
        self.change = v2.Compose([v2.RandomResizedCrop(SIDE), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32),
                                  v2.Normalize(mean, std, inplace=True)])

    def __len__(self):
        return len(self.job.paths)

    def __getitem__(self, index):
        frames = self.change(self.frames_of(self.job.paths[index], lambda count: clips.draw_numbers(count, self.job.clips)))
        if self.job.clips > 1:
            frames = frames.reshape(self.job.clips, clips.FRAMES, *frames.shape[1:])
        return frames, self.job.classes[index]


class Sounds(torch.utils.data.Dataset):
    """`samples_of(path)` returns a sound in mono at clips.RATE, as float32."""

    def __init__(self, job, samples_of):
        self.job, self.samples_of = job, samples_of
        self.filters, self.window = torch.from_numpy(clips.mel_filters()), torch.hann_window(clips.WINDOW)

    def __len__(self):
        return len(self.job.paths)

    def __getitem__(self, index):
        samples = self.samples_of(self.job.paths[index])[:clips.RATE * clips.SECONDS]
        samples = torch.nn.functional.pad(samples, (0, clips.RATE * clips.SECONDS - len(samples)))
        spectrum = torch.stft(samples, clips.WINDOW, clips.HOP, window=self.window, return_complex=True)
        powers = torch.view_as_real(spectrum).square().sum(-1)
        return (self.filters @ powers).clamp(min=1e-10).log10(), self.job.classes[index]


def batches(job, samples):
    loader = torch.utils.data.DataLoader(samples, job.batch, shuffle=True, num_workers=job.threads, persistent_workers=True)
    for _ in range(job.epochs):
        for values, classes in loader:
            yield values, len(classes) * job.clips
