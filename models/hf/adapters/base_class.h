// The class of the base model of adapters. A folder often contains a model without the head that
// the adapters were trained with: adapters of a classifier contain the whole head, and their base
// model is a pre-trained encoder.
#pragma once

#include "weft/models/hf/adapters/adapter_folder.h"
#include "weft/models/hf/folder.h"

namespace WEFT_API weft {
namespace hf {

/// Returns `base` as the class that the task type of the adapters requires (SEQ_CLS, TOKEN_CLS or
/// QUESTION_ANS). If the base is of another class, its config names the required class and has as
/// many labels as the head in `adapters`, whose tensors are added to the weights; tensors that the
/// class does not have are left out. Otherwise, and for other task types, returns `base` unchanged.
/// Throws ArgumentError if the model type has no such class.
Folder with_adapter_head(Folder base, const AdapterFolder& adapters);

}  // namespace hf
}  // namespace weft
