// nanobind's own code, for the extension to link: compiled apart, with other flags than ours.
#include <nb_combined.cpp>
