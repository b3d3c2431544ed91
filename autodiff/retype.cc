#include "weft/autodiff/retype.h"

namespace weft {

Module retype(const Program& program, DType from, DType to) {
  CloneOptions options;
  options.map_dtype = [from, to](DType dtype) { return dtype == from ? to : dtype; };
  return clone_program(program, options);
}

}  // namespace weft
