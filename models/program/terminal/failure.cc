#include "weft/models/program/terminal/failure.h"

#include <cstdio>
#include <new>
#include <stdexcept>

#include "weft/core/excerpt.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {
namespace {

/// Messages are truncated because they may contain names from files, which can have any length, and
/// lists of such names.
constexpr std::size_t kMaxShown = 4000;

}  // namespace

void Failure::print() const {
  if (kind == Kind::memory) {
    std::fputs(
        "weft: not enough memory: reduce the sizes (--batch, --context, --width, --beams) or, for "
        "training, set a --memory-budget\n",
        stderr);
    return;
  }
  print_stderr("weft: {}\n", excerpt(one_line(message), kMaxShown));
}

Failure current_failure() {
  try {
    throw;
  } catch (const CommandFailed& e) {
    return e.failure();
  } catch (const UsageError& e) {
    return {Failure::Kind::usage, e.what()};
  } catch (const std::bad_alloc&) {
    return {Failure::Kind::memory};
  } catch (const std::length_error&) {
    return {Failure::Kind::memory};  // a container larger than the memory of any machine
  } catch (const std::exception& e) {
    return {Failure::Kind::run, e.what()};
  }
}

}  // namespace weft::program
