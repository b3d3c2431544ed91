// Random tensors for tests: core/random_tensors.h under the names of this library.
#pragma once

#include "weft/core/random_tensors.h"

namespace WEFT_API weft {
namespace testing {

using weft::integer_tensor;
using weft::normal_tensor;
using weft::uniform_tensor;

}  // namespace testing
}  // namespace weft
