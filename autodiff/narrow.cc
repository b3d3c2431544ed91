#include "weft/autodiff/narrow.h"

#include "weft/graph/functions/math.h"

namespace weft {

Value widened(const Value& v) { return is_narrow(v) ? cast(v, DType::f32) : v; }

}  // namespace weft
