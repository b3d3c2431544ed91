// Tensors of random elements, by the names of the testing kit: core/random_tensors.h has them.
#pragma once

#include "weft/core/random_tensors.h"

namespace WEFT_API weft {
namespace testing {

using weft::integer_tensor;
using weft::normal_tensor;
using weft::uniform_tensor;

}  // namespace testing
}  // namespace weft
