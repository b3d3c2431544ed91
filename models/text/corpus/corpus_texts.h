// Provides the documents of corpus files as training texts for tokenizers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "weft/models/text/corpus/corpus_files.h"
#include "weft/models/text/tokenizers/train/text_source.h"

namespace WEFT_API weft {

/// Iterates over the documents of all files. Long documents are split into parts at word
/// boundaries, see DocumentPiece. next() throws the same errors as open_corpus_file() and
/// DocumentReader::next().
class CorpusTexts final : public TextSource {
 public:
  explicit CorpusTexts(std::vector<CorpusFile> files, CorpusOptions options = {})
      : files_(std::move(files)), options_(std::move(options)) {}
  bool next(std::string& part) override;

 private:
  std::vector<CorpusFile> files_;
  CorpusOptions options_;
  std::size_t opened_ = 0;
  /// The reader for the last opened file; null after the end of the file.
  std::unique_ptr<DocumentReader> reader_;
  DocumentPiece piece_;
};

}  // namespace weft
