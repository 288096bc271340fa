// Decompositions of small dense matrices, row-major, in place.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace rondo {

// The factors of an n by n matrix with its rows exchanged, in the matrix's
// place: below the diagonal those of l (whose diagonal is 1), the rest u.
template <class T>
class Lu {
 public:
  // False when a pivot is zero: the matrix is singular.
  bool factor(T* matrix, int64_t n);
  // Row i of the factors is row rows()[i] of the matrix.
  const std::vector<int64_t>& rows() const { return rows_; }
  T determinant() const;
  // x [n, columns] for matrix x = rhs, or for its transpose.
  void solve(const T* rhs, T* x, int64_t columns, bool transposed) const;

 private:
  T at(int64_t i, int64_t j) const { return matrix_[i * n_ + j]; }

  T* matrix_ = nullptr;
  int64_t n_ = 0;
  int sign_ = 1;
  std::vector<int64_t> rows_;
};

// x -= factor * y, for rows of n.
template <class T>
void subtract_row(T* x, T factor, const T* y, int64_t n) {
  for (int64_t j = 0; j < n; ++j) x[j] -= factor * y[j];
}

template <class T>
bool Lu<T>::factor(T* matrix, int64_t n) {
  matrix_ = matrix;
  n_ = n;
  sign_ = 1;
  rows_.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) rows_[static_cast<size_t>(i)] = i;
  for (int64_t k = 0; k < n; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::abs(at(i, k)) > std::abs(at(best, k))) best = i;
    if (at(best, k) == T{0}) return false;
    if (best != k) {
      for (int64_t j = 0; j < n; ++j)
        std::swap(matrix[k * n + j], matrix[best * n + j]);
      std::swap(rows_[static_cast<size_t>(k)],
                rows_[static_cast<size_t>(best)]);
      sign_ = -sign_;
    }
    for (int64_t i = k + 1; i < n; ++i) {
      T& factor = matrix[i * n + k];
      factor /= at(k, k);
      subtract_row(matrix + i * n + k + 1, factor, matrix + k * n + k + 1,
                   n - k - 1);
    }
  }
  return true;
}

template <class T>
T Lu<T>::determinant() const {
  T product = static_cast<T>(sign_);
  for (int64_t i = 0; i < n_; ++i) product *= at(i, i);
  return product;
}

template <class T>
void Lu<T>::solve(const T* rhs, T* x, int64_t columns, bool transposed) const {
  const auto row = [columns](T* of, int64_t i) { return of + i * columns; };
  const auto divide = [&](T* of, T by) {
    for (int64_t j = 0; j < columns; ++j) of[j] /= by;
  };
  if (!transposed) {
    for (int64_t i = 0; i < n_; ++i) {
      const T* from = rhs + rows_[static_cast<size_t>(i)] * columns;
      for (int64_t j = 0; j < columns; ++j) row(x, i)[j] = from[j];
    }
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t k = 0; k < i; ++k)
        subtract_row(row(x, i), at(i, k), row(x, k), columns);
    for (int64_t i = n_ - 1; i >= 0; --i) {
      for (int64_t k = i + 1; k < n_; ++k)
        subtract_row(row(x, i), at(i, k), row(x, k), columns);
      divide(row(x, i), at(i, i));
    }
    return;
  }
  // With p the exchange of rows, p matrix = l u, so its transpose is
  // u^T l^T p: two triangular systems, then the rows go back.
  std::vector<T> y(rhs, rhs + n_ * columns);
  for (int64_t i = 0; i < n_; ++i) {
    for (int64_t k = 0; k < i; ++k)
      subtract_row(row(y.data(), i), at(k, i), row(y.data(), k), columns);
    divide(row(y.data(), i), at(i, i));
  }
  for (int64_t i = n_ - 1; i >= 0; --i)
    for (int64_t k = i + 1; k < n_; ++k)
      subtract_row(row(y.data(), i), at(k, i), row(y.data(), k), columns);
  for (int64_t i = 0; i < n_; ++i)
    for (int64_t j = 0; j < columns; ++j)
      row(x, rows_[static_cast<size_t>(i)])[j] = row(y.data(), i)[j];
}

}  // namespace rondo
