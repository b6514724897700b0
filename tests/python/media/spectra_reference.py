"""Spectrograms and cepstral coefficients of a sound as librosa, torchaudio, Kaldi and Whisper define them, written out in
numpy."""
import numpy as np

EPSILON = 2.0 ** -23  # of Kaldi's floats, below which it takes no logarithm


def hann(size):
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)


def centred(samples, n_fft, hop, padding, window=None):
    """[frames, n_fft]: the windowed frames around each multiple of `hop`."""
    padded = np.pad(samples.astype(np.float64), n_fft // 2, mode=padding)
    size = window or n_fft
    shape = np.zeros(n_fft)
    shape[(n_fft - size) // 2:(n_fft - size) // 2 + size] = hann(size)
    return np.array([padded[at:at + n_fft] * shape for at in range(0, len(padded) - n_fft + 1, hop)])


def of_kaldi(samples, rate):
    """[frames, n_fft], and the logarithm of each frame's energy."""
    width, hop = int(rate * 0.025), int(rate * 0.010)
    n_fft = 2 ** int(np.ceil(np.log2(width)))
    povey = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(width) / (width - 1))) ** 0.85
    frames, energies = [], []
    for at in range(0, len(samples) - width + 1, hop):
        frame = samples[at:at + width].astype(np.float64)
        frame = frame - frame.mean()
        energies.append(np.log(max(np.sum(frame ** 2), EPSILON)))
        frame = frame - 0.97 * np.concatenate([frame[:1], frame[:-1]])
        frames.append(np.concatenate([frame * povey, np.zeros(n_fft - width)]))
    return np.array(frames), np.array(energies)


def stft(frames):
    return np.fft.rfft(frames, axis=1)


def power(frames):
    return np.abs(stft(frames)) ** 2


def mel_of(scale, hz):
    if scale == "slaney":
        return np.where(hz < 1000, hz * 3 / 200, 15 + 27 * np.log(np.maximum(hz, 1000) / 1000) / np.log(6.4))
    return 2595 * np.log10(1 + hz / 700) if scale == "htk" else 1127 * np.log(1 + hz / 700)


def hz_of(scale, mel):
    if scale == "slaney":
        return np.where(mel < 15, mel * 200 / 3, 1000 * 6.4 ** ((np.maximum(mel, 15) - 15) / 27))
    return 700 * (10 ** (mel / 2595) - 1) if scale == "htk" else 700 * (np.exp(mel / 1127) - 1)


def bank(scale, bands, n_fft, rate, low=0.0):
    """[bands, bins]: triangles that are straight in Hz, or in Kaldi's mel; Slaney's have an area of 1."""
    edges = np.linspace(mel_of(scale, np.array(low)), mel_of(scale, np.array(rate / 2)), bands + 2)
    places = np.arange(n_fft // 2 + 1) * rate / n_fft
    if scale == "kaldi":
        places = mel_of(scale, places)
    else:
        edges = hz_of(scale, edges)
    rows = []
    for left, middle, right in zip(edges, edges[1:], edges[2:]):
        row = np.maximum(0, np.minimum((places - left) / (middle - left), (right - places) / (right - middle)))
        rows.append(row * (2 / (right - left) if scale == "slaney" else 1))
    rows = np.array(rows)
    if scale == "kaldi":
        rows[:, -1] = 0
    return rows


def decibels(values, top_db=80):
    levels = 10 * np.log10(np.maximum(values, 1e-10))
    return np.maximum(levels, levels.max() - top_db) if top_db else levels


def cosines(levels, count):
    """The first `count` coefficients of each row's orthonormal DCT-II."""
    bands = levels.shape[1]
    places = (np.arange(bands) + 0.5) * np.pi / bands
    rows = [np.cos(i * places) * np.sqrt((1 if i == 0 else 2) / bands) for i in range(count)]
    return levels @ np.array(rows).T


def lifted(coefficients, lifter, first=0):
    places = np.arange(first, first + coefficients.shape[1])
    return coefficients * (1 + lifter / 2 * np.sin(np.pi * places / lifter))


def librosa_frames(samples, window=None):
    return centred(samples, 2048, 512, "constant", window)


def librosa_mfcc(samples, rate, count=20, lifter=0, top_db=80):
    levels = decibels(power(librosa_frames(samples)) @ bank("slaney", 128, 2048, rate).T, top_db)
    found = cosines(levels, count)
    return lifted(found, lifter, first=1) if lifter else found


def torchaudio_frames(samples):
    return centred(samples, 400, 200, "reflect")


def torchaudio_mfcc(samples, rate, count=40, logarithm=False):
    mels = power(torchaudio_frames(samples)) @ bank("htk", 128, 400, rate).T
    return cosines(np.log(mels + 1e-6) if logarithm else decibels(mels), count)


def whisper_frames(samples):
    return centred(samples, 400, 160, "reflect")[:-1]


def kaldi_spectrogram(samples, rate):
    frames, energies = of_kaldi(samples, rate)
    levels = np.log(np.maximum(power(frames), EPSILON))
    levels[:, 0] = energies
    return levels


def kaldi_mfcc(samples, rate, count=13, lifter=22, energy=False):
    frames, energies = of_kaldi(samples, rate)
    mels = power(frames) @ bank("kaldi", 23, frames.shape[1], rate, low=20.0).T
    found = lifted(cosines(np.log(np.maximum(mels, EPSILON)), count), lifter)
    if energy:
        found[:, 0] = energies
    return found
