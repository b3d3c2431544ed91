#include "weft/serialization/files/verified_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/files/temporary_files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRecords = 4096;
constexpr std::int64_t kMillisecond = 1'000'000, kSecond = 1'000 * kMillisecond;

/// Returns the folder of the records, or an empty path if the user has no cache folder. The XDG
/// Base Directory Specification requires that relative paths are ignored.
fs::path records_folder() {
  const auto absolute = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? fs::path(value) : fs::path();
  };
  if (const fs::path cache = absolute("XDG_CACHE_HOME"); !cache.empty())
    return cache / "weft" / "verified";
  const fs::path home = absolute("HOME");
  return home.empty() ? home : home / ".cache" / "weft" / "verified";
}

fs::path record_path(const FileIdentity& file) {
  const fs::path folder = records_folder();
  return folder.empty() ? folder : folder / fmt::format("{:x}-{:x}", file.device, file.inode);
}

std::string record_text(const FileIdentity& file, std::uint32_t checksum, Verified result) {
  return fmt::format("weft 1 {:x} {:x} {} {} {:08x} {}\n", file.device, file.inode, file.bytes,
                     file.modified, checksum, result == Verified::finite ? "finite" : "intact");
}

/// Returns the contents of a record, or "" if it cannot be read or another user could have written
/// it. Never waits for a pipe.
std::string read_record(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return {};
  struct stat status {};
  std::array<char, 256> text{};
  ssize_t bytes = 0;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
      (status.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    bytes = ::read(fd, text.data(), text.size());
  ::close(fd);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0))};
}

/// Returns a time in nanoseconds since 1970. Years after 2262 wrap around.
std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(time.tv_sec) * kSecond +
                                   static_cast<std::uint64_t>(time.tv_nsec));
}

/// Returns true for the name of a record or of its temporary file.
bool is_record_name(const std::string& name) {
  const std::string record = target_of_temporary(name).value_or(name);
  return record.find('-') != std::string::npos &&
         record.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

/// Removes the older half of the records if there are too many. Keeps all other files, in case the
/// folder is a link to another one.
void limit_records(const fs::path& folder) {
  std::vector<std::pair<std::int64_t, fs::path>> records;
  for_each_name(folder, [&](const std::string& name) {
    struct stat status {};
    fs::path path = folder / name;
    if (is_record_name(name) && ::lstat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode))
      records.emplace_back(nanoseconds(status.st_mtim), std::move(path));
  });
  if (records.size() < kMostRecords) return;
  std::sort(records.begin(), records.end());
  std::error_code error;
  for (std::size_t i = 0; i < records.size() / 2; ++i) fs::remove(records[i].second, error);
}

/// Returns true if the file was modified so shortly before that a further change may leave its
/// modification time as it is. File systems count in ticks of the kernel (at most 10 ms), some in
/// seconds.
bool is_too_recent(const FileIdentity& file) {
  const std::int64_t resolution = file.modified % kSecond == 0 ? 2 * kSecond : 50 * kMillisecond;
  return file.modified >= file.seen - resolution && file.modified <= file.seen + resolution;
}

}  // namespace

std::optional<FileIdentity> FileIdentity::of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return FileIdentity{static_cast<std::uint64_t>(status.st_dev),
                      static_cast<std::uint64_t>(status.st_ino),
                      static_cast<std::uint64_t>(status.st_size), nanoseconds(status.st_mtim),
                      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
}

Verified recorded_verification(const FileIdentity& file, std::uint32_t checksum) {
  const fs::path path = record_path(file);
  const std::string text = path.empty() ? std::string() : read_record(path);
  for (const Verified result : {Verified::finite, Verified::intact}) {
    if (text == record_text(file, checksum, result)) return result;
  }
  return Verified::no;
}

void record_verification(const std::string& path, const FileIdentity& before,
                         std::uint32_t checksum, Verified result) {
  const fs::path record = record_path(before);
  if (record.empty() || is_too_recent(before) || FileIdentity::of(path) != before) return;
  std::error_code error;
  fs::create_directories(record.parent_path(), error);
  if (error) return;
  limit_records(record.parent_path());
  if (fs::is_symlink(record, error)) fs::remove(record, error);
  const std::string text = record_text(before, checksum, result);
  try {
    AtomicFile file(record.string());
    file.write(text.data(), text.size());
    file.commit();
    // read_record() rejects files that others can write, which a umask of 002 would allow.
    fs::permissions(record, fs::perms::owner_read | fs::perms::owner_write, error);
  } catch (const Error&) {  // the cache is optional
  }
}

void forget_verification(const FileIdentity& file) {
  std::error_code error;
  if (const fs::path record = record_path(file); !record.empty()) fs::remove(record, error);
}

}  // namespace weft
