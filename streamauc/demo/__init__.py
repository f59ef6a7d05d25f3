"""The demonstration: a model that learns day by day, on the flights that left New York in 2013."""
