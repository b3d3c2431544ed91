// Sample inputs for the built-in ops. Programs that need them link this file.
#include "weft/ops/builtin.h"
#include "weft/ops/samples.h"

namespace weft {

void add_builtin_samples(OpSamples& all) { BuiltinFamilies::add_to(all); }

}  // namespace weft
