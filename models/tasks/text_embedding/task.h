// Text embeddings by models of Sentence Transformers, and by encoders without a head or with a head
// that no other task supports.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the text embedding task. Its from_folder() accepts any encoder class, so it must be
/// tried after the tasks that recognise specific heads.
const Task& text_embedding_task();

/// Returns true if a folder contains a Sentence Transformers model that computes text vectors. Its
/// transformers class may have a head, which does not contribute to the vectors. If `any` is set,
/// the result is also true for models whose vectors Weft cannot compute, such as sparse ones, for
/// which the task throws an error.
bool holds_text_vectors(const hf::Folder& folder, bool any);

}  // namespace weft
