// Strongly typed indices, and vectors that can only be indexed by their own index type.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The index of an element in a list. A default-constructed Id is undefined (-1). Ids with
/// different tags are distinct types that can be neither converted to nor compared with one
/// another:
///   using StepId = Id<struct StepTag>;
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  template <std::integral Number>
  constexpr explicit Id(Number number) : number_(static_cast<int>(number)) {}

  constexpr bool defined() const { return number_ >= 0; }
  constexpr int number() const { return number_; }
  /// Returns the number for use as a subscript. The Id must be defined.
  constexpr std::size_t index() const { return static_cast<std::size_t>(number_); }

  // clang-tidy 14 mistakes the 0 in the generated comparison for a null pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend constexpr auto operator<=>(const Id&, const Id&) = default;

  constexpr Id& operator++() {
    ++number_;
    return *this;
  }
  friend constexpr Id operator+(Id id, int more) { return Id(id.number_ + more); }
  friend constexpr Id operator-(Id id, int less) { return Id(id.number_ - less); }
  /// Returns the distance from `b` to `a`.
  friend constexpr int operator-(Id a, Id b) { return a.number_ - b.number_; }
  /// Prints the number to a stream.
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                                      Id id) {
    return out << id.number_;
  }

 private:
  int number_ = -1;
};

/// The half-open range of Ids [begin, end), for range-based for loops.
template <class I>
class IdRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(I id) : id_(id) {}
    constexpr I operator*() const { return id_; }
    constexpr Iterator& operator++() {
      ++id_;
      return *this;
    }
    friend constexpr bool operator==(const Iterator&, const Iterator&) = default;

   private:
    I id_;
  };
  constexpr IdRange(I begin, I end) : begin_(begin), end_(end) {}
  constexpr Iterator begin() const { return Iterator(begin_); }
  constexpr Iterator end() const { return Iterator(end_); }

 private:
  I begin_, end_;
};

/// A std::vector that is indexed by the Id type `I`. As in std::vector, operator[] is unchecked and
/// at() throws std::out_of_range. `T` cannot be bool, because std::vector<bool> has no references
/// to elements.
template <class I, class T>
class IdVector {
  static_assert(!std::is_same_v<T, bool>, "use char");

 public:
  IdVector() = default;
  explicit IdVector(std::size_t size, const T& value = T()) : items_(size, value) {}
  IdVector(std::initializer_list<T> items) : items_(items) {}
  explicit IdVector(std::vector<T> items) : items_(std::move(items)) {}

  T& operator[](I id) { return items_[id.index()]; }
  const T& operator[](I id) const { return items_[id.index()]; }
  T& at(I id) { return items_.at(id.index()); }
  const T& at(I id) const { return items_.at(id.index()); }
  T& front() { return items_.front(); }
  const T& front() const { return items_.front(); }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  /// The Ids of all elements, in ascending order.
  IdRange<I> ids() const { return {I(0), end_id()}; }
  /// The Id of the next element to be appended.
  I end_id() const { return I(items_.size()); }
  bool contains(I id) const { return id.defined() && id < end_id(); }

  /// Appends an element and returns its Id.
  I push_back(T item) {
    items_.push_back(std::move(item));
    return I(items_.size() - 1);
  }
  void assign(std::size_t size, const T& value) { items_.assign(size, value); }
  void resize(std::size_t size) { items_.resize(size); }
  void resize(std::size_t size, const T& value) { items_.resize(size, value); }
  void reserve(std::size_t size) { items_.reserve(size); }
  void clear() { items_.clear(); }

  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

  friend bool operator==(const IdVector&, const IdVector&) = default;

 private:
  std::vector<T> items_;
};

}  // namespace weft

template <class Tag>
struct std::hash<weft::Id<Tag>> {
  std::size_t operator()(weft::Id<Tag> id) const noexcept { return std::hash<int>{}(id.number()); }
};
