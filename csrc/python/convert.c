/* convert.c - the library's values as Python's, and back. */
#include "module.h"

#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL hf_array_api
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

#include "core/error.h"

PyObject *text_of(const char *text) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

int dict_put(PyObject *dict, const char *key, PyObject *value) {
    if (!value)
        return -1;
    int failed = PyDict_SetItemString(dict, key, value);
    Py_DECREF(value);
    return failed;
}

void list_put(PyObject **list, PyObject *value) {
    if (!value || PyList_Append(*list, value) < 0)
        Py_CLEAR(*list);
    Py_XDECREF(value);
}

/* None for what is not known. */
static PyObject *bytes_of(size_t bytes) {
    return bytes ? PyLong_FromSize_t(bytes) : Py_NewRef(Py_None);
}

PyObject *device_dict(const hf_device_info *info) {
    return Py_BuildValue(
        "{s:s,s:N,s:N,s:N,s:N,s:i,s:s,s:N,s:N,s:N,s:N,s:N}", "runtime", info->runtime,
        "platform", text_of(info->platform), "name", text_of(info->name), "version",
        text_of(info->version), "driver", text_of(info->driver), "index", info->index,
        "type", hf_device_types[info->type], "emulated",
        PyBool_FromLong(info->emulated), "memory", bytes_of(info->memory), "max_alloc",
        bytes_of(info->max_alloc), "half", PyBool_FromLong(info->half), "fp64",
        PyBool_FromLong(info->fp64));
}

/* A kernel's arguments, in order. */
static PyObject *arguments_list(const hf_kernel_info *kernel) {
    static const char *const kinds[] = {"read",  "shared", "write",
                                        "value", "in",     "out"};
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < kernel->n_args; i++) {
        const hf_arg_info *arg = &kernel->args[i];
        list_put(&list, Py_BuildValue("{s:s,s:s,s:n,s:n}", "name", arg->name, "kind",
                                      kinds[arg->kind], "bytes", (Py_ssize_t)arg->bytes,
                                      "depth", (Py_ssize_t)arg->depth));
    }
    return list;
}

PyObject *kernels_list(const hf_kernel_info *kernels) {
    PyObject *list = PyList_New(0);
    for (; list && kernels->name; kernels++)
        list_put(&list,
                 Py_BuildValue("{s:s,s:N,s:N}", "name", kernels->name, "replicated",
                               PyBool_FromLong(kernels->replicated), "arguments",
                               arguments_list(kernels)));
    return list;
}

/* What a column's values are as NumPy's, and by name. */
static const struct {
    int type;
    const char *name;
} dtypes[] = {
    [HF_F64] = {NPY_FLOAT64, "float64"},
    [HF_I64] = {NPY_INT64, "int64"},
    [HF_BOOL] = {NPY_BOOL, "bool"},
    [HF_NAME] = {NPY_UNICODE, "str"},
};

const char *dtype_name(hf_dtype dtype) {
    return dtypes[dtype].name;
}

/* Array over one column; it keeps `owner` alive. */
static PyObject *column_array(const hf_column *column, PyObject *owner) {
    static const int letters = HF_NAME_LETTERS * (int)sizeof(uint32_t);
    npy_intp shape[3];
    for (int d = 0; d < column->n_dims; d++)
        shape[d] = (npy_intp)column->shape[d];
    PyObject *array = PyArray_New(
        &PyArray_Type, column->n_dims, shape, dtypes[column->dtype].type, NULL,
        column->data, column->dtype == HF_NAME ? letters : 0, NPY_ARRAY_CARRAY, NULL);
    if (array && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(owner)) < 0)
        Py_CLEAR(array);
    return array;
}

/* The columns that `get` gives. */
static PyObject *columns_dict(const hf_column *(*get)(const hf_result *, size_t),
                              const hf_result *result, PyObject *owner) {
    PyObject *columns = PyDict_New();
    const hf_column *column;
    for (size_t i = 0; columns && (column = get(result, i)); i++) {
        PyObject *array = column_array(column, owner);
        PyObject *pair = array ? Py_BuildValue("(sN)", column->unit, array) : NULL;
        if (dict_put(columns, column->name, pair) < 0)
            Py_CLEAR(columns);
    }
    return columns;
}

static PyObject *summary_dict(const hf_result *result) {
    PyObject *summary = PyDict_New();
    const char *name, *unit;
    double value;
    for (size_t i = 0; summary && hf_result_summary(result, i, &name, &unit, &value);
         i++)
        if (dict_put(summary, name, Py_BuildValue("(sd)", unit, value)) < 0)
            Py_CLEAR(summary);
    return summary;
}

static PyObject *notes_list(const hf_result *result) {
    PyObject *notes = PyList_New(0);
    const char *note;
    for (size_t i = 0; notes && (note = hf_result_note(result, i)); i++)
        list_put(&notes, text_of(note));
    return notes;
}

static PyObject *number_object(double number, bool integer) {
    return integer ? PyLong_FromDouble(number) : PyFloat_FromDouble(number);
}

static PyObject *parameter_object(const hf_args *args, size_t index) {
    const hf_param *param = hf_args_param(args, index);
    const double *numbers = hf_args_numbers(args, index);
    if (param->kind == HF_TEXT)
        return PyUnicode_FromString(hf_args_text(args, index));
    bool reals = param->kind == HF_REALS;
    if (param->kind != HF_INTS && !reals)
        return number_object(numbers[0], param->kind == HF_INT);
    size_t n = hf_args_count(args, index);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n; i++)
        list_put(&list, number_object(numbers[i], !reals));
    return list;
}

PyObject *parameters_dict(const hf_args *args) {
    PyObject *parameters = PyDict_New();
    const hf_param *param;
    for (size_t i = 0; parameters && (param = hf_args_param(args, i)); i++)
        if (dict_put(parameters, param->name, parameter_object(args, i)) < 0)
            Py_CLEAR(parameters);
    return parameters;
}

/* Array over the records, which keeps `owner` alive; None where there are none. */
static PyObject *records_array(const hf_result *result, PyObject *owner) {
    hf_records records = hf_result_records(result);
    npy_intp n = (npy_intp)records.n;
    if (!records.data)
        return Py_NewRef(Py_None);
    PyObject *array = PyArray_New(&PyArray_Type, 1, &n, NPY_VOID, NULL, records.data,
                                  (int)records.bytes, NPY_ARRAY_CARRAY, NULL);
    if (array && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(owner)) < 0)
        Py_CLEAR(array);
    return array;
}

static void capsule_free(PyObject *capsule) {
    hf_result_free(PyCapsule_GetPointer(capsule, NULL));
}

PyObject *result_dict(hf_result *result, const hf_args *args) {
    PyObject *owner = PyCapsule_New(result, NULL, capsule_free);
    if (!owner) {
        hf_result_free(result);
        return NULL;
    }
    PyObject *dict = PyDict_New();
    if (dict &&
        (dict_put(dict, "columns", columns_dict(hf_result_column, result, owner)) < 0 ||
         dict_put(dict, "trace", columns_dict(hf_result_trace, result, owner)) < 0 ||
         dict_put(dict, "summary", summary_dict(result)) < 0 ||
         dict_put(dict, "parameters", parameters_dict(args)) < 0 ||
         dict_put(dict, "notes", notes_list(result)) < 0 ||
         dict_put(dict, "records", records_array(result, owner)) < 0 ||
         dict_put(dict, "verified", PyBool_FromLong(hf_result_verified(result))) < 0))
        Py_CLEAR(dict);
    Py_DECREF(owner);
    return dict;
}

/* A number, or a sequence of numbers, as doubles; dates and spans are none to us. */
static PyArrayObject *numbers_array(PyObject *value) {
    PyArrayObject *given = (PyArrayObject *)PyArray_FROM_O(value);
    bool date = given && PyArray_ISDATETIME(given);
    Py_XDECREF(given);
    if (!given || date)
        return NULL;
    return (PyArrayObject *)PyArray_FROMANY(value, NPY_FLOAT64, 0, 1, NPY_ARRAY_CARRAY);
}

static hf_status args_set_text(hf_args *args, const char *name, PyObject *value) {
    const char *text = PyUnicode_AsUTF8(value);
    if (text)
        return hf_args_set(args, name, 0, NULL, text);
    PyErr_Clear();
    PyObject *shown = PyObject_ASCII(value);
    hf_status status = hf_fail(HF_EARG, "%s: %.200s is not UTF-8", name,
                               shown ? PyUnicode_AsUTF8(shown) : "text");
    PyErr_Clear();
    Py_XDECREF(shown);
    return status;
}

/* Set one parameter from a Python number, list of numbers, str, or path. */
static hf_status args_set(hf_args *args, const char *name, PyObject *value) {
    PyObject *path = PyOS_FSPath(value); /* a str is one */
    if (path && PyUnicode_Check(path)) {
        Py_ssize_t end = PyUnicode_GET_LENGTH(path);
        bool named =
            PyUnicode_Check(value) || PyUnicode_FindChar(path, '/', 0, end, 1) >= 0;
        PyObject *text = PyUnicode_FromFormat("%s%U", named ? "" : "./", path);
        hf_status status =
            text ? args_set_text(args, name, text) : hf_fail(HF_ENOMEM, "no memory");
        Py_XDECREF(text);
        Py_DECREF(path);
        return status;
    }
    PyErr_Clear();
    Py_XDECREF(path);
    PyArrayObject *numbers =
        PyBytes_Check(value) || value == Py_None ? NULL : numbers_array(value);
    if (!numbers) {
        PyErr_Clear();
        PyObject *shown = PyObject_Repr(value);
        const char *text = shown ? PyUnicode_AsUTF8(shown) : NULL;
        hf_status status = hf_fail(HF_EARG, "%s: %.80s is not a number or text", name,
                                   text ? text : "a value");
        PyErr_Clear();
        Py_XDECREF(shown);
        return status;
    }
    hf_status status = hf_args_set(args, name, (size_t)PyArray_SIZE(numbers),
                                   PyArray_DATA(numbers), NULL);
    Py_DECREF(numbers);
    return status;
}

hf_status args_fill(hf_args **out, const char *bench, PyObject *params) {
    HF_TRY(hf_args_new(out, bench));
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(params, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8(key);
        hf_status status = name ? args_set(*out, name, value)
                                : hf_fail(HF_EARG, "a parameter's name is no text");
        PyErr_Clear();
        if (status != HF_OK) {
            hf_args_free(*out);
            *out = NULL;
            return status;
        }
    }
    return HF_OK;
}

void expectation_free(expectation *held) {
    for (size_t i = 0; i < sizeof held->owners / sizeof held->owners[0]; i++)
        Py_CLEAR(held->owners[i]);
    PyMem_Free(held->schemes);
    held->schemes = NULL;
}

static PyObject *doubles_of(PyObject *values, int n_dims) {
    return PyArray_FROMANY(values, NPY_FLOAT64, n_dims, n_dims, NPY_ARRAY_CARRAY);
}

int expectation_take(expectation *out, PyObject *schemes, PyObject *sizes,
                     PyObject *times) {
    expectation held = {0};
    PyObject *names = PySequence_Tuple(schemes);
    PyArrayObject *at = NULL, *of = NULL;
    held.owners[0] = names;
    if (names && sizes && times) {
        at = (PyArrayObject *)(held.owners[1] = doubles_of(sizes, 1));
        of = at ? (PyArrayObject *)(held.owners[2] = doubles_of(times, 2)) : NULL;
    }
    if (!of) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "schemes take sizes and times");
        expectation_free(&held);
        return -1;
    }
    size_t n = (size_t)PyTuple_GET_SIZE(names), rows = (size_t)PyArray_DIM(of, 0),
           columns = (size_t)PyArray_DIM(of, 1), n_sizes = (size_t)PyArray_DIM(at, 0);
    held.schemes = PyMem_New(const char *, n + 1);
    bool right = held.schemes && rows == n && columns == n_sizes;
    for (size_t i = 0; right && i < n; i++)
        right = (held.schemes[i] =
                     PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, (Py_ssize_t)i)));
    if (!right) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError,
                         "times are [%zu, %zu], not [%zu schemes, %zu sizes]", rows,
                         columns, n, n_sizes);
        expectation_free(&held);
        return -1;
    }
    held.expected = (hf_expected){.n = n_sizes,
                                  .n_schemes = n,
                                  .sizes = PyArray_DATA(at),
                                  .schemes = held.schemes,
                                  .times = PyArray_DATA(of)};
    *out = held;
    return 0;
}
