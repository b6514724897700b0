import albumentations as A
import cv2
import pandas as pd
import torch
from albumentations.pytorch import ToTensorV2
from torch.utils.data import DataLoader, Dataset

train_tf = A.Compose([A.RandomResizedCrop(size=(224, 224)), A.HorizontalFlip(p=0.5), A.Normalize(), ToTensorV2()])


class Leaves(Dataset):
    def __init__(self, df, transform):
        self.df, self.transform = df, transform

    def __len__(self):
        return len(self.df)

    def __getitem__(self, i):
        row = self.df.iloc[i]
        image = cv2.cvtColor(cv2.imread(row.path), cv2.COLOR_BGR2RGB)
        return self.transform(image=image)["image"], row.label


loader = DataLoader(Leaves(pd.read_csv("train.csv"), train_tf), batch_size=16, shuffle=True)
