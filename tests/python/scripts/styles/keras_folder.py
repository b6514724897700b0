import keras

train = keras.utils.image_dataset_from_directory("/data/pets/train", image_size=(180, 180), batch_size=32)
model = keras.Sequential([keras.layers.Rescaling(1.0 / 255), keras.layers.Flatten(), keras.layers.Dense(2)])
model.compile(loss="sparse_categorical_crossentropy")
model.fit(train, epochs=2)
