// The code of nanobind that the extension links. It is compiled apart, with other flags than this project's code.
#include <nb_combined.cpp>
