// Stands for the real header: nothing here is compiled.
