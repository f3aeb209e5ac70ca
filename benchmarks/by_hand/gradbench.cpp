// Jacobians of GradBench's hand tracking and bundle adjustment, their derivatives written by hand.
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

constexpr int FINGERS = 5, BONES = 22, ANGLES = 4, GLOBAL = 6, THETA = GLOBAL + FINGERS * ANGLES;

struct Mat4 {
  double m[4][4];
};

Mat4 operator*(const Mat4 &a, const Mat4 &b) {
  Mat4 y;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      double sum = 0;
      for (int k = 0; k < 4; ++k) sum += a.m[i][k] * b.m[k][j];
      y.m[i][j] = sum;
    }
  return y;
}

// The rotation Rz(z) Rx(x) of a joint, and its derivatives where they are asked for.
Mat4 joint(double x, double z, Mat4 *by_x, Mat4 *by_z) {
  double cx = std::cos(x), sx = std::sin(x), cz = std::cos(z), sz = std::sin(z);
  if (by_x) *by_x = {{{0, sz * sx, sz * cx}, {0, -cz * sx, -cz * cx}, {0, cx, -sx}, {}}};
  if (by_z) *by_z = {{{-sz, -cz * cx, cz * sx}, {cz, -sz * cx, sz * sx}, {}, {}}};
  return {{{cz, -sz * cx, sz * sx}, {sz, cz * cx, -cz * sx}, {0, sx, cx}, {0, 0, 0, 1}}};
}

// The rotation about an axis by its length, and its derivatives.
void axis_angle(const double *a, double r[3][3], double dr[3][3][3]) {
  double n = std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]), s = std::sin(n), c = std::cos(n);
  double u[3] = {a[0] / n, a[1] / n, a[2] / n};
  for (int d = -1; d < 3; ++d) {  // the value is first
    double du[3], ds = d < 0 ? 0 : c * u[d], dc = d < 0 ? 0 : -s * u[d];
    if (d >= 0)
      for (int i = 0; i < 3; ++i) du[i] = ((i == d) - u[i] * u[d]) / n;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        int k = 3 - i - j;
        double sign = i == j ? 0 : (j - i + 3) % 3 == 1 ? -1 : 1, cosine = i == j ? c : 0;
        if (d < 0) {
          r[i][j] = u[i] * u[j] * (1 - c) + cosine + (i == j ? 0 : sign * u[k] * s);
        } else {
          double outer = du[i] * u[j] + u[i] * du[j];
          dr[d][i][j] = outer * (1 - c) - u[i] * u[j] * dc + (i == j ? dc : 0);
          if (i != j) dr[d][i][j] += sign * (du[k] * s + u[k] * ds);
        }
      }
  }
}

// to[3][count] += weights * (transform @ base[4][count])
void skin(const Mat4 &t, const double *base, const double *weights, int count, double *to) {
  for (int i = 0; i < 3; ++i) {
    double *row = to + i * count;
    for (int v = 0; v < count; ++v)
      row[v] += weights[v] * (t.m[i][0] * base[v] + t.m[i][1] * base[count + v] +
                              t.m[i][2] * base[2 * count + v] + t.m[i][3] * base[3 * count + v]);
  }
}

void multiply(const double r[3][3], const double *x, double factor, double *y) {
  for (int i = 0; i < 3; ++i) y[i] = factor * (r[i][0] * x[0] + r[i][1] * x[1] + r[i][2] * x[2]);
}

}  // namespace

extern "C" {

// The Jacobian [columns][points][3]: with `us`, two columns by them; then those by theta. A point is
// matched with a vertex, or with the three of a triangle.
void hand_tracking(int vertices, int points, const double *theta, const double *us,
                   const double *relatives, const double *inverses, const double *base,
                   const double *weights, const int *matched, double *jacobian) {
  const Mat4 *relative = (const Mat4 *)relatives, *inverse = (const Mat4 *)inverses;
  std::vector<double> space((1 + FINGERS * ANGLES) * 3 * vertices, 0.0);
  double *position = space.data(), *slope = position + 3 * vertices;
  auto add = [&](int bone, const Mat4 &absolute, double *to) {
    skin(absolute * inverse[bone], base, weights + bone * vertices, vertices, to);
  };
  add(0, relative[0], position);
  add(BONES - 1, relative[0] * relative[BONES - 1], position);
  for (int f = 0; f < FINGERS; ++f) {
    const double *angle = theta + GLOBAL + ANGLES * f;
    double *by_angle = slope + ANGLES * f * 3 * vertices;
    int bone = 1 + 4 * f, known = 0;
    Mat4 absolute = relative[0] * relative[bone], by[ANGLES];
    add(bone, absolute, position);
    for (int k = 1; k < 4; ++k) {
      Mat4 by_x, by_z, fixed = absolute * relative[++bone];
      Mat4 turn = joint(angle[known], k == 1 ? angle[1] : 0, &by_x, k == 1 ? &by_z : nullptr);
      Mat4 step = relative[bone] * turn;
      for (int d = 0; d < known; ++d) by[d] = by[d] * step;
      by[known++] = fixed * by_x;
      if (k == 1) by[known++] = fixed * by_z;
      absolute = fixed * turn;
      add(bone, absolute, position);
      for (int d = 0; d < known; ++d) add(bone, by[d], by_angle + d * 3 * vertices);
    }
  }
  double r[3][3], dr[3][3][3];
  axis_angle(theta, r, dr);
  double *by_theta = jacobian + (us ? 2 * 3 * points : 0);
  std::fill(by_theta + 9 * points, by_theta + 18 * points, 0.0);
  for (int p = 0; p < points; ++p) {
    const int *corner = matched + (us ? 3 : 1) * p;
    double u[3] = {us ? us[2 * p] : 0, us ? us[2 * p + 1] : 0, 0};
    u[2] = 1 - u[0] - u[1];
    auto at = [&](const double *x, double *y) {
      for (int i = 0; i < 3; ++i) {
        const double *row = x + i * vertices;
        y[i] = us ? u[0] * row[corner[0]] + u[1] * row[corner[1]] + u[2] * row[corner[2]]
                  : row[*corner];
      }
    };
    double x[3];
    if (us)
      for (int d = 0; d < 2; ++d) {
        for (int i = 0; i < 3; ++i)
          x[i] = position[i * vertices + corner[2]] - position[i * vertices + corner[d]];
        multiply(r, x, 1, jacobian + (d * points + p) * 3);
      }
    at(position, x);
    for (int d = 0; d < 3; ++d) {
      multiply(dr[d], x, -1, by_theta + (d * points + p) * 3);
      by_theta[((3 + d) * points + p) * 3 + d] = -1;
    }
    for (int d = 0; d < FINGERS * ANGLES; ++d) {
      at(slope + d * 3 * vertices, x);
      multiply(r, x, -1, by_theta + ((GLOBAL + d) * points + p) * 3);
    }
  }
}

// For each observation, [2][15] derivatives of its residuals by camera, point and weight, and
// that of the residual of its weight.
void bundle_adjustment(int count, const double *cameras, const double *world, const double *weights,
                       const double *features, const int *observed, double *jacobian,
                       double *by_weight) {
  for (int n = 0; n < count; ++n) {
    const double *cam = cameras + 11 * observed[2 * n], *at = world + 3 * observed[2 * n + 1];
    double x[3] = {at[0] - cam[3], at[1] - cam[4], at[2] - cam[5]}, weight = weights[n];
    double square = cam[0] * cam[0] + cam[1] * cam[1] + cam[2] * cam[2];
    double theta = std::sqrt(square), inverse = 1 / theta, c = std::cos(theta), s = std::sin(theta);
    double a[3] = {cam[0] * inverse, cam[1] * inverse, cam[2] * inverse};
    double cross[3] = {a[1] * x[2] - a[2] * x[1], a[2] * x[0] - a[0] * x[2],
                       a[0] * x[1] - a[1] * x[0]};
    double dot = a[0] * x[0] + a[1] * x[1] + a[2] * x[2], rest = 1 - c;
    double turn[3][3] = {{c + rest * a[0] * a[0], rest * a[0] * a[1] - s * a[2],
                          rest * a[0] * a[2] + s * a[1]},
                         {rest * a[1] * a[0] + s * a[2], c + rest * a[1] * a[1],
                          rest * a[1] * a[2] - s * a[0]},
                         {rest * a[2] * a[0] - s * a[1], rest * a[2] * a[1] + s * a[0],
                          c + rest * a[2] * a[2]}};
    double y[3], by_axis[3][3], by_rotation[3][3];
    // of y = x c + cross s + a dot (1 - c), by the axis a and by the angle theta
    double skew[3][3] = {{0, x[2], -x[1]}, {-x[2], 0, x[0]}, {x[1], -x[0], 0}};
    for (int i = 0; i < 3; ++i) {
      y[i] = x[i] * c + cross[i] * s + a[i] * dot * rest;
      for (int j = 0; j < 3; ++j)
        by_axis[i][j] = s * skew[i][j] + rest * (a[i] * x[j] + (i == j ? dot : 0));
    }
    for (int i = 0; i < 3; ++i) {
      double by_angle = -x[i] * s + cross[i] * c + a[i] * dot * s;
      double along = by_axis[i][0] * a[0] + by_axis[i][1] * a[1] + by_axis[i][2] * a[2];
      for (int j = 0; j < 3; ++j)
        by_rotation[i][j] = by_angle * a[j] + (by_axis[i][j] - along * a[j]) * inverse;
    }
    double depth = 1 / y[2], p[2] = {y[0] * depth, y[1] * depth};
    double r2 = p[0] * p[0] + p[1] * p[1], bend = 1 + cam[9] * r2 + cam[10] * r2 * r2;
    double slope = 2 * cam[9] + 4 * cam[10] * r2, scale = weight * cam[6];
    for (int k = 0; k < 2; ++k) {
      double *row = jacobian + (2 * n + k) * 15;
      double by_p[2] = {slope * p[k] * p[0], slope * p[k] * p[1]};
      by_p[k] += bend;
      double by_y[3] = {by_p[0] * depth, by_p[1] * depth, 0};
      by_y[2] = -(by_y[0] * p[0] + by_y[1] * p[1]);
      for (int j = 0; j < 3; ++j) {
        double along = 0, by_x = 0;
        for (int i = 0; i < 3; ++i) {
          along += by_y[i] * by_rotation[i][j];
          by_x += by_y[i] * turn[i][j];
        }
        row[j] = scale * along;
        row[3 + j] = -scale * by_x;
        row[11 + j] = scale * by_x;
      }
      double bent = p[k] * bend;
      row[6] = weight * bent;
      row[7] = k == 0 ? weight : 0;
      row[8] = k == 1 ? weight : 0;
      row[9] = scale * p[k] * r2;
      row[10] = row[9] * r2;
      row[14] = bent * cam[6] + cam[7 + k] - features[2 * n + k];
    }
    by_weight[n] = -2 * weight;
  }
}
}
