#include "weft/models/program/program.h"

int main(int argc, char** argv) { return weft::program::run_program(argc, argv); }
