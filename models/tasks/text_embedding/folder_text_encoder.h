// Text encoders from Hugging Face folders.
#pragma once

#include <memory>
#include <string>

#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"

namespace WEFT_API weft {

/// Returns the text encoder in a folder: an encoder of any class, or a decoder with modules of
/// Sentence Transformers. Returns null if the folder contains another model. The result has no
/// program "train". Throws the same exceptions as Task::from_folder().
std::unique_ptr<TextEncoder> folder_text_encoder(const hf::Folder& folder,
                                                 const FolderTokenizer& text);

/// Returns the weights of the modules after Pooling in the folder `root`, in f32, by their names in
/// Weft. Throws the same exceptions as read_tensors().
TensorMap module_weights(const SentenceSettings& settings, const std::string& root);

/// Returns true if a folder contains a Sentence Transformers model that computes text vectors. Its
/// transformers class may have a head, which does not contribute to the vectors. If `any` is set,
/// the result is also true for models with other vectors, such as sparse ones, for which the task
/// throws an error.
bool holds_text_vectors(const hf::Folder& folder, bool any);

}  // namespace weft
