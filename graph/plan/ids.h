// Typed indices into the lists of compiled programs and plans.
#pragma once

#include "weft/core/index.h"

namespace WEFT_API weft {

// Indices into the lists of a CompiledProgram.
using NodeId = Id<struct NodeTag>;
using InputId = Id<struct InputTag>;
using VariableId = Id<struct VariableTag>;
/// Also indexes Plan::values, which begins with the program's values.
using ValueId = Id<struct ValueTag>;

// Indices into the lists of a Plan.
using StepId = Id<struct StepTag>;
using BufferId = Id<struct BufferTag>;
using WaveId = Id<struct WaveTag>;
using UpdateId = Id<struct UpdateTag>;

}  // namespace weft
