// Compilation of the functions that nodes execute: bodies of loops and branches.
#pragma once

#include <memory>

#include "weft/graph/plan/compile.h"

namespace weft {

/// Compiles the bodies of all nodes of `program` that have bodies, recursively.
void compile_bodies(CompiledProgram& program, const CompileOptions& options);

/// Runs the passes over `module` and numbers the remaining nodes and values. The caller supplies
/// the inputs and requirements of the program.
std::shared_ptr<CompiledProgram> compile_module(Module module,
                                                std::vector<CompiledProgram::Input> inputs,
                                                const std::vector<DimEquation>& requirements,
                                                const CompileOptions& options);

}  // namespace weft
