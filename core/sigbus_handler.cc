#include "weft/core/sigbus_handler.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>

namespace weft {
namespace {

// A signal handler can only access globals and must neither lock nor allocate, so the mappings are
// stored in a table of fixed size. If the table is full, further mappings are not recorded, and the
// handler does not recognise their addresses.
struct Mapping {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> bytes{0};  // 0 = the handler skips this entry
  std::atomic<const char*> path{nullptr};
};
std::array<Mapping, 4096> mappings;  // NOLINT
std::atomic<const char*> program_name{nullptr};
struct sigaction previous_action;  // NOLINT

const Mapping* mapping_of(std::uintptr_t address) {
  for (const Mapping& m : mappings) {
    const std::size_t bytes = m.bytes.load(std::memory_order_acquire);
    const std::uintptr_t begin = m.begin.load(std::memory_order_relaxed);
    if (address >= begin && address - begin < bytes) return &m;
  }
  return nullptr;
}

// Builds a line in a fixed buffer, because formatting libraries allocate.
class StderrLine {
 public:
  StderrLine& operator<<(const char* text) {
    for (; *text != 0 && size_ + 1 < sizeof(text_); ++text) text_[size_++] = *text;
    return *this;
  }
  StderrLine& operator<<(std::uint64_t number) {
    char digits[24] = {};
    std::size_t at = sizeof(digits) - 1;
    do {
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    return *this << digits + at;
  }
  void print() {
    text_[size_++] = '\n';
    static_cast<void>(::write(STDERR_FILENO, text_, size_) == 0);
  }

 private:
  char text_[8192] = {};
  std::size_t size_ = 0;
};

void on_bus_error(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const Mapping* lost = mapping_of(address);
  if (lost == nullptr) {
    // Restore the previous handler: the instruction is restarted and faults again.
    ::sigaction(SIGBUS, &previous_action, nullptr);
    return;
  }
  StderrLine line;
  line
      << program_name.load() << ": \"" << lost->path.load(std::memory_order_relaxed)
      << "\" became unreadable while in use (at byte "
      << std::uint64_t{address - lost->begin.load(std::memory_order_relaxed)}
      << "): another program truncated or overwrote it, or its disk failed; to replace a file that "
         "is in use, rename a new file over it";
  line.print();
  ::_exit(1);
}

}  // namespace

void install_sigbus_handler(const char* program) {
  if (program_name.exchange(program) != nullptr) return;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &previous_action);
}

void register_mapping(const void* data, std::size_t bytes, const char* path) {
  for (Mapping& m : mappings) {
    if (m.taken.load(std::memory_order_relaxed) || m.taken.exchange(true)) continue;
    m.begin.store(reinterpret_cast<std::uintptr_t>(data), std::memory_order_relaxed);
    m.path.store(path, std::memory_order_relaxed);
    m.bytes.store(bytes, std::memory_order_release);
    return;
  }
}

void unregister_mapping(const void* data) {
  for (Mapping& m : mappings) {
    if (m.bytes.load(std::memory_order_relaxed) == 0 ||
        m.begin.load(std::memory_order_relaxed) != reinterpret_cast<std::uintptr_t>(data))
      continue;
    m.bytes.store(0, std::memory_order_release);
    m.taken.store(false, std::memory_order_release);
    return;
  }
}

}  // namespace weft
