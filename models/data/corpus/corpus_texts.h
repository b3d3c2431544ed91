// The documents of files as texts that tokenizers learn from.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "weft/models/data/corpus/corpus_files.h"
#include "weft/models/tokenizers/train/text_source.h"

namespace WEFT_API weft {

/// Documents one after the other, long ones in parts that end where words do (DocumentPiece).
/// next() throws as open_corpus_file() and what it gives.
class CorpusTexts final : public TextSource {
 public:
  explicit CorpusTexts(std::vector<CorpusFile> files, CorpusOptions options = {})
      : files_(std::move(files)), options_(std::move(options)) {}
  bool next(std::string& part) override;

 private:
  std::vector<CorpusFile> files_;
  CorpusOptions options_;
  std::size_t opened_ = 0;
  std::unique_ptr<DocumentReader> reader_;  // of the last one opened; null: it has ended
  DocumentPiece piece_;
};

}  // namespace weft
