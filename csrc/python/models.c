/* models.c - formulas of the models, and their values. */
#include "module.h"

#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL hf_array_api
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

#include "model.h"

static PyObject *terms_dict(const hf_term *terms) {
    PyObject *dict = PyDict_New();
    for (; dict && terms->name; terms++)
        if (dict_put(dict, terms->name,
                     Py_BuildValue("{s:s,s:s,s:z,s:d,s:s,s:N}", "unit", terms->unit,
                                   "summary", terms->summary, "fact", terms->fact,
                                   "fallback", terms->fallback, "param",
                                   terms->param ? terms->param : terms->name, "zero",
                                   PyBool_FromLong(terms->zero))) < 0)
            Py_CLEAR(dict);
    return dict;
}

PyObject *core_models(PyObject *module, PyObject *name) {
    static const char *const roles[] = {"expected", "calibrated", "fitted", "summary",
                                        "chosen"};
    const hf_model_ops *model;
    const char *text = PyUnicode_AsUTF8(name);
    if (!text)
        return NULL;
    hf_status status = hf_model_find(&model, text);
    if (status != HF_OK)
        return status_raise(PyModule_GetState(module), status);
    PyObject *list = PyList_New(0);
    for (const hf_formula *f = model->formulas; list && f->summary; f++)
        list_put(&list, Py_BuildValue(
                            "{s:n,s:s,s:z,s:s,s:N,s:N}", "index",
                            (Py_ssize_t)(f - model->formulas), "role", roles[f->role],
                            "exchange", f->exchange, "summary", f->summary, "inputs",
                            terms_dict(f->inputs), "outputs", terms_dict(f->outputs)));
    return list;
}

static bool term_known(const hf_term *terms, PyObject *key) {
    for (; terms->name; terms++)
        if (PyUnicode_CompareWithASCIIString(key, terms->name) == 0)
            return true;
    return false;
}

/* The inputs as arrays, in the formula's order, broadcast against each other. */
static PyArrayMultiIterObject *inputs_broadcast(const hf_formula *f, PyObject *inputs) {
    PyObject *arrays[HF_MAX_TERMS] = {NULL}, *key, *value;
    PyArrayMultiIterObject *iterator = NULL;
    Py_ssize_t at = 0;
    size_t n = 0;
    while (PyDict_Next(inputs, &at, &key, &value))
        if (!PyUnicode_Check(key) || !term_known(f->inputs, key)) {
            PyErr_Format(PyExc_ValueError, "formula \"%s\" has no input %R", f->summary,
                         key);
            return NULL;
        }
    for (; f->inputs[n].name; n++) {
        value = PyDict_GetItemString(inputs, f->inputs[n].name);
        if (!value) {
            PyErr_Format(PyExc_ValueError, "formula \"%s\" needs the input \"%s\" [%s]",
                         f->summary, f->inputs[n].name, f->inputs[n].unit);
            break;
        }
        arrays[n] = PyArray_FROMANY(value, NPY_FLOAT64, 0, 0, NPY_ARRAY_CARRAY);
        if (!arrays[n])
            break;
    }
    if (!PyErr_Occurred())
        iterator =
            (PyArrayMultiIterObject *)PyArray_MultiIterFromObjects(arrays, (int)n, 0);
    for (size_t i = 0; i < n; i++)
        Py_XDECREF(arrays[i]);
    return iterator;
}

/* Evaluate over the broadcast inputs; a tuple of arrays. */
static PyObject *formula_eval(const hf_formula *f, PyArrayMultiIterObject *inputs) {
    size_t n_in = hf_terms_count(f->inputs), n_out = hf_terms_count(f->outputs);
    size_t n = (size_t)PyArray_MultiIter_SIZE(inputs);
    if (f->role >= HF_SUMMARY && n == 0)
        return PyErr_Format(PyExc_ValueError, "formula \"%s\" needs at least one point",
                            f->summary);
    double *in[HF_MAX_TERMS], *out[HF_MAX_TERMS];
    double *block = PyMem_New(double, n_in *n + 1);
    PyObject *arrays = block ? PyTuple_New((Py_ssize_t)n_out) : PyErr_NoMemory();
    for (size_t i = 0; i < n_in; i++)
        in[i] = block + i * n;
    for (size_t k = 0; arrays && k < n; k++) {
        for (size_t i = 0; i < n_in; i++)
            in[i][k] = *(double *)PyArray_MultiIter_DATA(inputs, (int)i);
        PyArray_MultiIter_NEXT(inputs);
    }
    for (size_t i = 0; arrays && i < n_out; i++) {
        PyObject *array =
            f->role >= HF_SUMMARY
                ? PyArray_SimpleNew(0, NULL, NPY_FLOAT64)
                : PyArray_SimpleNew(PyArray_MultiIter_NDIM(inputs),
                                    PyArray_MultiIter_DIMS(inputs), NPY_FLOAT64);
        if (!array) {
            Py_CLEAR(arrays);
            break;
        }
        out[i] = PyArray_DATA((PyArrayObject *)array);
        PyTuple_SET_ITEM(arrays, (Py_ssize_t)i, array);
    }
    if (arrays)
        f->eval(n, (const double *const *)in, out);
    PyMem_Free(block);
    return arrays;
}

PyObject *core_evaluate(PyObject *module, PyObject *args) {
    const char *model;
    PyObject *inputs;
    Py_ssize_t index;
    const hf_formula *f;
    if (!PyArg_ParseTuple(args, "snO!:evaluate", &model, &index, &PyDict_Type, &inputs))
        return NULL;
    hf_status status = hf_formula_find(&f, model, (size_t)index);
    if (status != HF_OK)
        return status_raise(PyModule_GetState(module), status);
    PyArrayMultiIterObject *iterator = inputs_broadcast(f, inputs);
    PyObject *arrays = iterator ? formula_eval(f, iterator) : NULL;
    PyObject *answer = arrays ? PyDict_New() : NULL;
    for (size_t i = 0; answer && f->outputs[i].name; i++)
        if (PyDict_SetItemString(answer, f->outputs[i].name,
                                 PyTuple_GET_ITEM(arrays, (Py_ssize_t)i)) < 0)
            Py_CLEAR(answer);
    Py_XDECREF(arrays);
    Py_XDECREF(iterator);
    return answer;
}

PyObject *core_fastest(PyObject *Py_UNUSED(module), PyObject *times) {
    PyArrayObject *held =
        (PyArrayObject *)PyArray_FROMANY(times, NPY_FLOAT64, 2, 2, NPY_ARRAY_CARRAY);
    if (!held)
        return NULL;
    npy_intp n = PyArray_DIM(held, 0), n_schemes = PyArray_DIM(held, 1);
    PyObject *best = n_schemes > 0
                         ? PyArray_SimpleNew(1, &n, NPY_INTP)
                         : PyErr_Format(PyExc_ValueError, "times of no scheme");
    for (npy_intp i = 0; best && i < n; i++)
        *(npy_intp *)PyArray_GETPTR1((PyArrayObject *)best, i) =
            (npy_intp)hf_fastest(PyArray_GETPTR2(held, i, 0), (size_t)n_schemes);
    Py_DECREF(held);
    return best;
}
