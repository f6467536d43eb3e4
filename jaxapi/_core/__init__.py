"""What every chapter rests on: types, dtypes, errors, devices and programs."""
