/* iokl.h: input/output kernel learning, for programs in C and in anything that calls C.
 *
 * Link with libiokl (make capi OUT=DIR builds it), or load it at run time.
 *
 *   iokl_handle job, model;
 *   iokl_error err = {sizeof err};
 *   iokl_fit(&X, &Y, "{\"lambda\": 1e-3}", &job, &err);       starts a fit
 *   while (iokl_job_wait(job, 100, &err) == IOKL_RUNNING) ...   polls it
 *   iokl_job_model(job, &model, &err);                          takes the model
 *   iokl_job_free(job, NULL);
 *   iokl_predict(model, &X, &F, &err);
 *   iokl_model_free(model, NULL);
 *
 * Status     Every function but iokl_abi_version returns a status. With an error structure
 *            it leaves the status and a message there too; NULL takes neither.
 * Handles    A handle is a number, given out once. Free each with the function of its kind. One
 *            that is unknown, freed or of another kind is IOKL_NO_SUCH_HANDLE.
 * Memory     The caller allocates all buffers, and the library keeps no pointer to them past
 *            the call. Only a job reads its matrices until it has ended: keep and do not change them until
 *            iokl_job_wait returns IOKL_OK or iokl_job_free returns.
 * Threads    Any thread may call any function, several at once too, but for two calls on one handle
 *            of which one frees it.
 * Text       UTF-8, ended by a zero byte. A function that writes text takes a buffer, its size in
 *            bytes and a place for the size needed, zero byte included; a NULL buffer
 *            of size 0 asks for that size only.
 * Processes  A child of fork() that does not call exec cannot use the library when its parent has.
 *            Neither the threads nor the locks of the library survive there.
 *
 * This file is stable: a change that breaks callers raises IOKL_ABI_VERSION.
 */
#ifndef IOKL_H
#define IOKL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IOKL_ABI_VERSION 1

typedef int32_t iokl_status;
enum {
	IOKL_OK = 0,
	IOKL_BAD_INPUT = 1,       /* data, options or an argument make no sense */
	IOKL_NO_MEMORY = 2,       /* the matrices needed exceed the memory limit */
	IOKL_NOT_CONVERGED = 3,   /* the tolerance was not reached; there is a result */
	IOKL_CANCELLED = 4,       /* cancelled; there may be a result */
	IOKL_BAD_MODEL = 5,       /* no model, a damaged one, or one of a newer version */
	IOKL_FILE_ERROR = 6,      /* a file could not be read or written */
	IOKL_NO_SUCH_HANDLE = 7,  /* never given out, freed, or of another kind */
	IOKL_SMALL_BUFFER = 8,    /* the buffer is too small */
	IOKL_RUNNING = 9,         /* the job has not ended */
	IOKL_FAILED = 10          /* anything else */
};

typedef uint64_t iokl_handle; /* 0 is none */

/* Structures that begin with size are filled in by the library. Set size to sizeof of the
 * structure first: a library that has another one returns IOKL_BAD_INPUT. */

typedef struct iokl_error {
	size_t size;
	iokl_status status;
	char message[1012]; /* cut at a character when longer */
} iokl_error;

/* A matrix of doubles: element (i, j), both from 0, is data[i*row_stride + j*col_stride].
 * With col_stride 1 and row_stride at least cols inputs are read in place, without a copy. */
typedef struct iokl_matrix {
	double *data;
	int64_t rows, cols;
	int64_t row_stride, col_stride; /* in elements; may be negative */
} iokl_matrix;

typedef struct iokl_progress {
	size_t size;
	char phase[64];      /* what is done while settings are compared; empty before and after */
	double done;         /* the share of the phase that is done */
	double seconds_left; /* about, of the phase; negative when not known */
	double best;         /* error of the best setting so far, or its accuracy; NaN before there is one */
	int64_t iteration;   /* outer iterations of the final fit so far */
	double objective;    /* NaN before the final fit */
	double relative_gap; /* certified; NaN before the final fit */
	int64_t lines;       /* that iokl_job_line has not handed out */
} iokl_progress;

typedef struct iokl_model_sizes {
	size_t size;
	int64_t inputs;  /* columns of X; 0 for a model of Gram matrices */
	int64_t outputs; /* columns of the predictions */
	int64_t kernels; /* m */
	int64_t learned; /* outputs that are not constant: the order of L */
	int64_t samples; /* l */
} iokl_model_sizes;

typedef struct iokl_certificate {
	size_t size;
	double objective, gap_eta, gap_l, relative_gap, tol; /* at the returned point, over all kernels */
	double lower_bound;    /* of the objective, over all weights and output kernels; NaN where it was not computed */
	double global_gap;     /* (objective - lower_bound)/objective; NaN where it was not computed */
	double lambda, tau;
	int64_t observed_cells; /* targets that were learned from */
	int64_t outer_iterations, sylvester_solves, kernel_multiplies;
	int32_t converged; /* relative_gap <= tol */
	int32_t reserved;
} iokl_certificate;

typedef struct iokl_solved {
	size_t size;
	double residual;    /* relative to the right side, recomputed at the answer */
	int64_t iterations; /* products with the operator, or steps */
} iokl_solved;

/* A symmetric linear map: writes A times the n x k matrix x to y, which it does not read. Any number
 * but 0 ends the computation with IOKL_CANCELLED. It is called on the thread of the solver. */
typedef int (*iokl_apply)(void *context, const iokl_matrix *x, const iokl_matrix *y);

#ifndef IOKL_TYPES_ONLY

/* The library */

uint32_t iokl_abi_version(void); /* compare with IOKL_ABI_VERSION */

/* Version, commit, platform, backend and instruction set as JSON. */
iokl_status iokl_library(char *text, size_t capacity, size_t *needed, iokl_error *err);

/* Threads that compute at once, for the whole process; 0 means all processors. */
iokl_status iokl_set_threads(int32_t threads, iokl_error *err);

/* Fits
 *
 * options is NULL, or a JSON object: the names are those of iokl.Options in snake_case
 * (kernels, lambda, tau, norm, learn, model, standardize, missing, tol, max_outer, seed, max_bytes,
 * input_names, output_names, interval_folds, cv, ...), budget as "60s", and backend. Without lambda, cross-validation
 * chooses it; without kernels, it chooses these too. budget is the time for all of that: a fit that it ends is
 * IOKL_NOT_CONVERGED, with a model. An unknown name is an error. */

/* Learns Y (l x n) from X (l x d); NaN is a missing cell. */
iokl_status iokl_fit(const iokl_matrix *X, const iokl_matrix *Y, const char *options, iokl_handle *job,
                     iokl_error *err);

/* Learns classes: codes[i], from 0, is the number of the class of row i in the list of n names. */
iokl_status iokl_fit_classes(const iokl_matrix *X, const int64_t *codes, int64_t rows, const char *const *classes,
                             int64_t n, const char *options, iokl_handle *job, iokl_error *err);

/* Learns Y from m Gram matrices (l x l, symmetric, positive semidefinite). */
iokl_status iokl_fit_gram(const iokl_matrix *grams, int64_t m, const iokl_matrix *Y, const char *options,
                          iokl_handle *job, iokl_error *err);

/* Compares the settings that options leave open; iokl_job_json has the result. */
iokl_status iokl_cross_validate(const iokl_matrix *X, const iokl_matrix *Y, const char *options, iokl_handle *job,
                                iokl_error *err);

/* Finds who drives whom among series, a column each with a row for each point in time; NaN is a missing value. options
 * are those of granger.Options in snake_case (lag, kernels, lambda, lambdas, norm, ...), and: names of
 * the series; groups, the node of each series; replicate, a number for each row; backend. Columns that tell the time,
 * by their names or values, order the rows and are no series: time is the name of one, dates are the numbers, from 0,
 * of columns of dates in days. iokl_job_line says what was done about them. */
iokl_status iokl_granger(const iokl_matrix *series, const char *options, iokl_handle *job, iokl_error *err);

/* Jobs */

/* Waits up to that many milliseconds, for ever when negative: IOKL_RUNNING, or IOKL_OK when the work has ended. */
iokl_status iokl_job_wait(iokl_handle job, int32_t milliseconds, iokl_error *err);
iokl_status iokl_job_progress(iokl_handle job, iokl_progress *progress, iokl_error *err);

/* The next line the work has said, in order; needed is 0 when there is none. A line is handed out once it fits. */
iokl_status iokl_job_line(iokl_handle job, char *text, size_t capacity, size_t *needed, iokl_error *err);

/* Asks for the best so far; called again, for an end at once. Does not wait. */
iokl_status iokl_job_cancel(iokl_handle job, iokl_error *err);

/* The model of a fit that has ended: a new handle, or 0. The status is that of the fit: with
 * IOKL_NOT_CONVERGED and IOKL_CANCELLED there may be a model, the best so far. */
iokl_status iokl_job_model(iokl_handle job, iokl_handle *model, iokl_error *err);

/* The result of iokl_cross_validate or iokl_granger as JSON. */
iokl_status iokl_job_json(iokl_handle job, char *text, size_t capacity, size_t *needed, iokl_error *err);

/* The graph of iokl_granger, N x N: row = target, column = source. */
iokl_status iokl_job_graph(iokl_handle job, const iokl_matrix *graph, iokl_error *err);

/* Ends the work when it is running, waits until it reads no matrix any more, and frees the handle. */
iokl_status iokl_job_free(iokl_handle job, iokl_error *err);

/* Models */

iokl_status iokl_model_load(const char *path, iokl_handle *model, iokl_error *err);
iokl_status iokl_model_save(iokl_handle model, const char *path, iokl_error *err);
iokl_status iokl_model_decode(const void *bytes, size_t size, iokl_handle *model, iokl_error *err);

/* What iokl_model_save writes. A NULL buffer of size 0 asks for the size, and keeps the bytes for the next call. */
iokl_status iokl_model_encode(iokl_handle model, void *bytes, size_t capacity, size_t *needed, iokl_error *err);
iokl_status iokl_model_free(iokl_handle model, iokl_error *err);

/* A new model, of the rows of the model and of X (t x d) and Y (t x n; for a classifier 1 for the class of a row, else
 * 0), without those that options take out: exactly that of a fit to these rows with the same kernels, scales, weights,
 * L and lambda times rows. X and Y are NULL for none. options is NULL or a JSON object with forget (a list of rows,
 * numbered from 0 by age), window (the rows that stay at most), relearn (learn weights and L further where the relative
 * gap is above tol), tol, max_outer, max_bytes and backend. The model stays as it is. With IOKL_NOT_CONVERGED there is
 * a new model too. */
iokl_status iokl_model_update(iokl_handle model, const iokl_matrix *X, const iokl_matrix *Y, const char *options,
                              iokl_handle *updated, iokl_error *err);

/* A new model, whose outputs are at these points (p x q) of the axis that option output_axis of the fit placed the
 * outputs of the model on. The model stays as it is. */
iokl_status iokl_model_at(iokl_handle model, const iokl_matrix *points, iokl_handle *at, iokl_error *err);

/* Makes updates of the model by a few rows, and of models made by these, fast: it keeps l x l numbers in memory. */
iokl_status iokl_model_prepare(iokl_handle model, iokl_error *err);

/* What the model has learned, in words: certificate, names, weights, classes, warnings. */
iokl_status iokl_model_json(iokl_handle model, char *text, size_t capacity, size_t *needed, iokl_error *err);
iokl_status iokl_model_size(iokl_handle model, iokl_model_sizes *sizes, iokl_error *err);
iokl_status iokl_model_certificate(iokl_handle model, iokl_certificate *certificate, iokl_error *err);

/* The weights of the kernels. */
iokl_status iokl_model_weights(iokl_handle model, double *eta, int64_t kernels, iokl_error *err);

/* L, between the outputs that are not constant. */
iokl_status iokl_model_output_kernel(iokl_handle model, const iokl_matrix *L, iokl_error *err);

/* The L_j of a kernel, from 0, of the model "sum", of which L is the sum. */
iokl_status iokl_model_output_kernel_of(iokl_handle model, int64_t kernel, const iokl_matrix *L, iokl_error *err);

/* Writes the predictions for the rows of X to F (t x n), which is not read. */
iokl_status iokl_predict(iokl_handle model, const iokl_matrix *X, const iokl_matrix *F, iokl_error *err);

/* Writes probabilities to P (t x n): of the classes, or by the loss "logistic" of a target 1. */
iokl_status iokl_predict_probabilities(iokl_handle model, const iokl_matrix *X, const iokl_matrix *P, iokl_error *err);

/* Predictions of a model of Gram matrices, from cross-Gram matrices (t x l) of all kernels, or of those of positive
 * weight. */
iokl_status iokl_predict_gram(iokl_handle model, const iokl_matrix *KX, int64_t m, const iokl_matrix *F,
                              iokl_error *err);

/* The same for the probabilities of targets 1 by the loss "logistic", P (t x n). */
iokl_status iokl_predict_probabilities_gram(iokl_handle model, const iokl_matrix *KX, int64_t m, const iokl_matrix *P,
                                            iokl_error *err);

/* Writes predictions for the rows of X to F, and to low and high (t x n) the ends of intervals that hold new targets
 * with a probability. options is NULL or a JSON object with level (0.9), method ("cv+" or "jackknife+"; of several
 * quantiles "conformal", whose ends are t x n/q for q of them), local, joint, weights (a list of rows: those of the
 * rows of X or of their targets, as weights of a fit; widths are in proportion to 1/sqrt(w)). */
iokl_status iokl_predict_interval(iokl_handle model, const iokl_matrix *X, const char *options, const iokl_matrix *F,
                                  const iokl_matrix *low, const iokl_matrix *high, iokl_error *err);

/* The same, by cv+, of a model of Gram matrices that keeps models without each fold (option interval_folds), from
 * cross-Gram matrices (t x l) of all m kernels. */
iokl_status iokl_predict_interval_gram(iokl_handle model, const iokl_matrix *KX, int64_t m, const char *options,
                                       const iokl_matrix *F, const iokl_matrix *low, const iokl_matrix *high,
                                       iokl_error *err);

/* Writes the posterior standard deviations at the rows of X to S (t x n): where data are thin. They do not count
 * noise. */
iokl_status iokl_predict_deviation(iokl_handle model, const iokl_matrix *X, const iokl_matrix *S, iokl_error *err);

/* Writes the standard deviations of the noise at the rows of X to S (t x n), of a model with the option learn_noise. */
iokl_status iokl_predict_noise(iokl_handle model, const iokl_matrix *X, const iokl_matrix *S, iokl_error *err);

/* For a classifier that keeps models without each fold: writes to P (t x n) the probability of each class, in the order
 * of the outputs, and to sets (t x n) 1 for each class that a row may be of, else 0: they hold its class with
 * probability level, 0 for 0.9. */
iokl_status iokl_predict_sets(iokl_handle model, const iokl_matrix *X, double level, const iokl_matrix *P,
                              const iokl_matrix *sets, iokl_error *err);

/* Solvers alone */

/* Solves K C L + mu C = Y for C (l x n), with K (l x l) and L (n x n) symmetric positive semidefinite and mu > 0.
 * NaN in Y is a missing cell: the equation then holds in the others, and C is 0 there. method is NULL or a name of
 * package sylvester; tol, relative to Y, is 0 for 1e-8. C is not read. result may be NULL, here and below. */
iokl_status iokl_solve_sylvester(const iokl_matrix *K, const iokl_matrix *L, double mu, const iokl_matrix *Y,
                                 const iokl_matrix *C, const char *method, double tol, iokl_solved *result,
                                 iokl_error *err);

/* Solves A X B + mu X = Q for any real square A (l x l) and B (n x n), directly. */
iokl_status iokl_solve_general(const iokl_matrix *A, const iokl_matrix *B, double mu, const iokl_matrix *Q,
                               const iokl_matrix *X, iokl_solved *result, iokl_error *err);

/* Solves A x = b for symmetric positive definite A of order n by conjugate gradients. x is read as the start.
 * tol is 0 for 1e-8, max_iterations 0 for 10 n. */
iokl_status iokl_solve_operator(iokl_apply apply, void *context, int64_t n, double *x, const double *b, double tol,
                                int64_t max_iterations, iokl_solved *result, iokl_error *err);

/* The k largest (smallest != 0: smallest) eigenvalues of a symmetric A of order n, the most extreme first, and
 * their eigenvectors in the columns of vectors (n x k). tol is 0 for 1e-8. result->residual is the largest of the
 * pairs'. */
iokl_status iokl_eigenpairs(iokl_apply apply, void *context, int64_t n, int64_t k, int32_t smallest, double tol,
                            double *values, const iokl_matrix *vectors, iokl_solved *result, iokl_error *err);

#endif /* IOKL_TYPES_ONLY */

#ifdef __cplusplus
}
#endif

#endif
