#include "weft/models/text/corpus/corpus_texts.h"

namespace weft {

bool CorpusTexts::next(std::string& part) {
  part.clear();
  while (reader_ != nullptr || opened_ < files_.size()) {
    if (reader_ == nullptr) reader_ = open_corpus_file(files_[opened_++], options_);
    if (!reader_->next(piece_)) {
      reader_ = nullptr;
      continue;
    }
    part += piece_.text;
    if (!part.empty() && (piece_.ends || part.size() >= kTextPartBytes)) return true;
  }
  return false;
}

}  // namespace weft
