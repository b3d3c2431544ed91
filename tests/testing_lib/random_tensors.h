// Random tensors for tests. Makes core/random_tensors.h available under this library's names.
#pragma once

#include "weft/core/random_tensors.h"

namespace WEFT_API weft {
namespace testing {

using weft::integer_tensor;
using weft::normal_tensor;
using weft::uniform_tensor;

}  // namespace testing
}  // namespace weft
