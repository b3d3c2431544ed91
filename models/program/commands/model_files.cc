#include "weft/models/program/commands/model_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/training/adapters.h"
#include "weft/models/training/lora_file.h"
#include "weft/serialization/files/atomic_file.h"

namespace weft::program {
namespace {

/// Also keeps the file under a second name, `as`, and replaces any earlier file of that name. If
/// `path` is replaced later, the kept file remains unchanged. Makes a copy if the file system does
/// not support hard links.
void keep_file(const std::string& path, const std::string& as) {
  namespace fs = std::filesystem;
  fs::remove(as);
  std::error_code error;
  // Links to the file itself, not to a symbolic link.
  fs::create_hard_link(fs::canonical(path), as, error);
  if (!error) return;
  const std::shared_ptr<MappedFile> whole = MappedFile::open(path);
  AtomicFile copy(as);
  copy.write(whole->data(), whole->bytes());
  copy.commit();
}

}  // namespace

ModelFiles::ModelFiles(TrainedModel& model, Averages* averages, Session& session,
                       const TrainArguments& args)
    : model_(model),
      averages_(averages),
      session_(session),
      args_(args),
      saved_(!args.resume.empty()),
      foreign_(args.foreign) {}

void ModelFiles::checkpoint(const TrainHistory& history) {
  const OutputFile file = args_.file("");
  if (saved_ && args_.world.first()) keep_earlier(file.path());
  write(file, history);
  saved_ = true;
}

void ModelFiles::write(const OutputFile& file, const TrainHistory& history) {
  model_.history = history;
  if (args_.all_write) {
    save_model_in_shards(file.path(), model_, session_);
    // Averages are optimizer state and are written to a separate file.
    if (averages_ != nullptr) session_.gather_state(Gather::first);
    if (!args_.world.first()) return;
  } else {
    save_model(file.path(), model_);
  }
  if (model_.lora) save_lora(companion(file, kAdapters).path(), lora_adapters(model_));
  if (averages_ != nullptr) averages_->save(companion(file, kAverages).path());
}

OutputFile ModelFiles::companion(const OutputFile& file, const std::string& ending) const {
  return args_.paths.planned(companion_path(file.path(), ending));
}

void ModelFiles::keep_earlier(const std::string& path) {
  namespace fs = std::filesystem;
  if (args_.keep == 0 || !fs::exists(path)) return;
  const auto earlier = [&](std::int64_t saves) {
    return args_.paths.planned(companion_path(path, earlier_ending(saves))).path();
  };
  try {
    for (const std::string& other : std::exchange(foreign_, {})) fs::remove(other);
    for (std::int64_t saves = args_.keep; saves > 1; --saves) {
      if (fs::exists(earlier(saves - 1))) fs::rename(earlier(saves - 1), earlier(saves));
    }
    keep_file(path, earlier(1));
  } catch (const fs::filesystem_error& e) {
    throw IoError(fmt::format("--keep: cannot keep the previous checkpoint of \"{}\": {}", path,
                              e.code().message()));
  }
}

}  // namespace weft::program
