// Compiling what the nodes of a program run: the bodies of loops and branches.
#pragma once

#include <memory>

#include "weft/graph/plan/compile.h"

namespace weft {

/// Compiles the bodies of all nodes of `program` that have any, and their bodies.
void compile_bodies(CompiledProgram& program, const CompileOptions& options);

/// Runs the passes over `module` and numbers what is left. Inputs and requirements are the
/// caller's to add before.
std::shared_ptr<CompiledProgram> compile_module(Module module,
                                                std::vector<CompiledProgram::Input> inputs,
                                                const std::vector<DimEquation>& requirements,
                                                const CompileOptions& options);

}  // namespace weft
