/* Loops that draw a house into images: what ray casting gives, in another order.

A camera at the origin sends through the pixel (col, row) the ray d = (col, row, 1), if space is
measured in the homogeneous pixel coordinates of `View.to_pixels`. The plane through the origin and
the edge of a triangle from u to v has the normal u x v, so d meets the triangle where d . (u x v)
has one sign for all three edges; with D = u . (v x w), the reciprocal of the depth of the hit is
d . (u x v + v x w + w x u) / D. All of these are linear in col and row. So each row of a triangle
is one span without any test in it, no triangle is cut at a near plane, and a pixel on an edge that
two triangles share belongs to exactly one of them.

The functions keep nothing between calls: threads may draw different rows of an image at the same
time. The result does not depend on how rows are divided. raster.py compiles and calls this file. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define FAST __attribute__((target_clones("avx2", "default")))
#else
#define FAST
#endif

enum { TILE = 16 }; /* rows and columns of the tiles of which the farthest depth is kept [px] */

static const double AHEAD = 1e-6; /* [m] what is not farther ahead has no place in the image */
static const double PAD = 1e-3;   /* [px] by which bounds are widened, for rounding */

typedef struct { /* as raster.py's _Soup: triangles in groups that lie close together */
    const float *vertices;
    const uint32_t *triangles;
    const uint8_t *colors;
    const int32_t *instances;
    const int64_t *groups; /* of each: first vertex, the one after its last, the same of triangles */
    const double *boxes;   /* of each: low and high corner [m] */
    int64_t count, solid;  /* groups, of which the first `solid` are the structure */
} Soup;

typedef struct {
    double left, right, top, bottom; /* first and last column and row */
    double nearness;                 /* reciprocal of the least depth [1/m] */
} Bounds;

static double least(double a, double b) { return b < a ? b : a; }
static double most(double a, double b) { return b > a ? b : a; }
static double least3(double a, double b, double c) { return least(least(a, b), c); }
static double most3(double a, double b, double c) { return most(most(a, b), c); }

/* Tell whether a box is out of the rows top..bottom-1, else find its bounds there. Where the box
reaches behind the eye these are the bounds of the image and infinity. */
static int outside(const double *box, const double *m, int64_t cols, int64_t top, int64_t bottom,
                   Bounds *found) {
    int left = 0, right = 0, above = 0, below = 0, behind = 0;
    double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY, depth = INFINITY;
    for (int k = 0; k < 8; k++) {
        double x = box[k & 1 ? 3 : 0], y = box[k & 2 ? 4 : 1], z = box[k & 4 ? 5 : 2];
        double u = m[0] * x + m[1] * y + m[2] * z + m[3];
        double v = m[4] * x + m[5] * y + m[6] * z + m[7];
        double s = m[8] * x + m[9] * y + m[10] * z + m[11];
        left += u < -PAD * s;
        right += u > ((double)(cols - 1) + PAD) * s;
        above += v < ((double)top - PAD) * s;
        below += v > ((double)(bottom - 1) + PAD) * s;
        behind += s <= AHEAD;
        depth = least(depth, s);
        x0 = least(x0, u / s), x1 = most(x1, u / s);
        y0 = least(y0, v / s), y1 = most(y1, v / s);
    }
    if (left == 8 || right == 8 || above == 8 || below == 8 || behind == 8) return 1;
    if (behind) {
        *found = (Bounds){0, (double)(cols - 1), (double)top, (double)(bottom - 1), INFINITY};
    } else {
        *found = (Bounds){most(x0 - PAD, 0.0), least(x1 + PAD, (double)(cols - 1)),
                          most(y0 - PAD, (double)top), least(y1 + PAD, (double)(bottom - 1)),
                          (1.0 + 1e-6) / depth};
    }
    return 0;
}

/* Tell whether all within bounds is behind what has been drawn. */
static int hidden(const Bounds *found, const float *tiles, int64_t across, int64_t top) {
    int64_t last = (int64_t)floor((found->bottom - (double)top) / TILE);
    for (int64_t i = ((int64_t)found->top - top) / TILE; i <= last; i++)
        for (int64_t j = (int64_t)found->left / TILE; j <= (int64_t)found->right / TILE; j++)
            if (found->nearness > tiles[i * across + j]) return 0;
    return 1;
}

/* Write the least nearness [1/m] in each tile of the rows top..bottom-1 into `tiles`. */
static void measure_tiles(const float *nearness, int64_t cols, int64_t top, int64_t bottom,
                          float *tiles, int64_t across) {
    for (int64_t k = 0; k < ((bottom - top - 1) / TILE + 1) * across; k++) tiles[k] = INFINITY;
    for (int64_t row = top; row < bottom; row++)
        for (int64_t col = 0; col < cols; col++) {
            float *tile = &tiles[(row - top) / TILE * across + col / TILE];
            if (nearness[row * cols + col] < *tile) *tile = nearness[row * cols + col];
        }
}

/* Keep the columns low..high of a row as far as a * col + b * row + c > 0 for an edge. A pixel on
the line itself belongs to one of its two sides, whichever way the edge runs. */
static void clip(const double *edge, int64_t row, int64_t *low, int64_t *high) {
    double a = edge[0], b = edge[1], c = edge[2];
    if (a > 0.0) {
        double root = -(b / a) * (double)row - c / a;
        if (root > (double)*low) *low = root <= (double)*high ? (int64_t)ceil(root) : *high + 1;
    } else if (a < 0.0) {
        double root = -(b / a) * (double)row - c / a;
        if (root <= (double)*high) *high = root > (double)*low ? (int64_t)ceil(root) - 1 : *low - 1;
    } else {
        double side = b * (double)row + c;
        if (side < 0.0 || (side == 0.0 && b <= 0.0)) *high = *low - 1;
    }
}

/* Draw a span where its nearness, start + slope * k at pixel k, exceeds what is there. */
FAST static void fill(float *nearness, int32_t *number, int64_t length, float start, float slope,
                      int32_t triangle) {
    for (int32_t k = 0; k < (int32_t)length; k++) {
        float value = start + slope * (float)k;
        int nearer = value > nearness[k];
        nearness[k] = nearer ? value : nearness[k];
        number[k] = nearer ? triangle : number[k];
    }
}

static void cross(const double *u, const double *v, double *result) {
    result[0] = u[1] * v[2] - v[1] * u[2];
    result[1] = u[2] * v[0] - v[2] * u[0];
    result[2] = u[0] * v[1] - v[0] * u[1];
}

/* Draw a triangle with corners p, q, r in homogeneous pixel coordinates. */
static void draw_triangle(const double *p, const double *q, const double *r, int64_t cols,
                          int64_t top, int64_t bottom, float *nearness, int32_t *number,
                          int32_t triangle) {
    int64_t left = 0, right = cols - 1, first = top, last = bottom - 1;
    if (least3(p[2], q[2], r[2]) > AHEAD) {
        double px = p[0] / p[2], qx = q[0] / q[2], rx = r[0] / r[2];
        double py = p[1] / p[2], qy = q[1] / q[2], ry = r[1] / r[2];
        double x0 = least3(px, qx, rx) - PAD, x1 = most3(px, qx, rx) + PAD;
        double y0 = least3(py, qy, ry) - PAD, y1 = most3(py, qy, ry) + PAD;
        if (x0 > (double)right || x1 < (double)left || y0 > (double)last || y1 < (double)first)
            return;
        if (x0 > (double)left) left = (int64_t)ceil(x0);
        if (x1 < (double)right) right = (int64_t)floor(x1);
        if (y0 > (double)first) first = (int64_t)ceil(y0);
        if (y1 < (double)last) last = (int64_t)floor(y1);
        if (left > right || first > last) return;
    } else if (most3(p[2], q[2], r[2]) <= 0.0) {
        return;
    }
    double edges[3][3];
    cross(q, r, edges[0]), cross(r, p, edges[1]), cross(p, q, edges[2]);
    double volume = p[0] * edges[0][0] + p[1] * edges[0][1] + p[2] * edges[0][2];
    if (volume == 0.0) return;
    double plane[3];
    for (int k = 0; k < 3; k++) {
        plane[k] = (edges[0][k] + edges[1][k] + edges[2][k]) / volume;
        if (volume < 0.0)
            for (int n = 0; n < 3; n++) edges[n][k] = -edges[n][k];
    }
    for (int64_t row = first; row <= last; row++) {
        int64_t begin = left, end = right;
        for (int n = 0; n < 3; n++) clip(edges[n], row, &begin, &end);
        if (begin > end) continue;
        double start = plane[0] * (double)begin + plane[1] * (double)row + plane[2];
        fill(&nearness[row * cols + begin], &number[row * cols + begin], end - begin + 1,
             (float)start, (float)plane[0], triangle);
    }
}

/* Draw a soup over what is in the rows top..bottom-1; its first triangle has number `shift`.
Return whether there was memory for it. */
static int draw(const Soup *soup, int32_t shift, const double *m, int64_t cols, int64_t top,
                int64_t bottom, float *nearness, int32_t *number) {
    int64_t across = (cols - 1) / TILE + 1, points = 1;
    for (int64_t g = 0; g < soup->count; g++) {
        const int64_t *group = &soup->groups[4 * g];
        if (group[1] - group[0] > points) points = group[1] - group[0];
    }
    float *tiles = calloc((size_t)(((bottom - top - 1) / TILE + 1) * across), sizeof *tiles);
    double *corners = malloc((size_t)points * 3 * sizeof *corners);
    for (int64_t g = 0; tiles && corners && g < soup->count; g++) {
        const int64_t *group = &soup->groups[4 * g];
        Bounds found;
        if (g == soup->solid) measure_tiles(nearness, cols, top, bottom, tiles, across);
        if (outside(&soup->boxes[6 * g], m, cols, top, bottom, &found)) continue;
        if (g >= soup->solid && hidden(&found, tiles, across, top)) continue;
        for (int64_t n = group[0]; n < group[1]; n++) {
            double x = soup->vertices[3 * n], y = soup->vertices[3 * n + 1];
            double z = soup->vertices[3 * n + 2];
            for (int k = 0; k < 3; k++)
                corners[3 * (n - group[0]) + k] =
                    m[4 * k] * x + m[4 * k + 1] * y + m[4 * k + 2] * z + m[4 * k + 3];
        }
        for (int64_t t = group[2]; t < group[3]; t++) {
            const uint32_t *at = &soup->triangles[3 * t];
            draw_triangle(&corners[3 * (at[0] - group[0])], &corners[3 * (at[1] - group[0])],
                          &corners[3 * (at[2] - group[0])], cols, top, bottom, nearness, number,
                          shift + (int32_t)t);
        }
    }
    int enough = tiles && corners;
    free(tiles), free(corners);
    return enough;
}

/* Make the rows top..bottom-1 of the images of one camera; `render` in raster.py says of what.
`shift` is the number of the house's triangles, `color` is NULL if it is not wanted. */
int render(const Soup *house, const Soup *robots, int32_t shift, const double *to_pixels,
           int64_t cols, int64_t top, int64_t bottom, double near, double far, const uint8_t *sky,
           float *depth, int32_t *semantic, uint8_t *color) {
    /* While drawing, the depth's memory holds its reciprocal, the semantic one's the triangle. */
    for (int64_t k = top * cols; k < bottom * cols; k++) depth[k] = 0.0f, semantic[k] = -1;
    if (!draw(house, 0, to_pixels, cols, top, bottom, depth, semantic)) return 0;
    if (!draw(robots, shift, to_pixels, cols, top, bottom, depth, semantic)) return 0;
    for (int64_t k = top * cols; k < bottom * cols; k++) {
        int32_t t = semantic[k];
        const Soup *soup = t < shift ? house : robots;
        if (t >= shift) t -= shift;
        if (color) {
            const uint8_t *from = t < 0 ? sky : &soup->colors[3 * t];
            for (int n = 0; n < 3; n++) color[3 * k + n] = from[n];
        }
        float value = 1.0f / depth[k];
        depth[k] = near <= value && value <= far ? value : 0.0f;
        semantic[k] = t < 0 ? 0 : soup->instances[t];
    }
    return 1;
}
