/* graphs.c - what graphs are and have, as dicts and arrays. */
#include "module.h"

#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL hf_array_api
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

#include "core/host_memory.h"
#include "graph.h"

static PyObject *info_dict(const hf_graph_info *info) {
    return Py_BuildValue(
        "{s:K,s:K,s:N,s:N,s:N,s:K,s:d}", "vertices", (unsigned long long)info->vertices,
        "edges", (unsigned long long)info->edges, "directed",
        PyBool_FromLong(info->directed), "weighted", PyBool_FromLong(info->weighted),
        "simple", PyBool_FromLong(info->simple), "digest",
        (unsigned long long)info->digest, "load_time", info->load_time);
}

/* A copy of n numbers; the arrays of a part are freed with it. */
static PyObject *array_of(const void *data, size_t n, int type) {
    npy_intp length = (npy_intp)n;
    PyObject *array = PyArray_SimpleNew(1, &length, type);
    if (array && n)
        memcpy(PyArray_DATA((PyArrayObject *)array), data,
               n * (size_t)PyArray_ITEMSIZE((PyArrayObject *)array));
    return array;
}

PyObject *graph_info(PyObject *module, PyObject *args) {
    const char *text;
    unsigned long long seed;
    hf_graph *graph;
    hf_status status;
    if (!PyArg_ParseTuple(args, "sK:graph_info", &text, &seed))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = hf_graph_open(&graph, text, seed);
    Py_END_ALLOW_THREADS
    if (status != HF_OK)
        return status_raise(PyModule_GetState(module), status);
    PyObject *dict = info_dict(hf_graph_info_of(graph));
    hf_graph_close(graph);
    return dict;
}

static PyObject *survey_dict(const hf_graph *graph, const hf_survey *s, int ranks) {
    const hf_graph_info *info = hf_graph_info_of(graph);
    PyObject *dict = info_dict(info);
    if (!dict)
        return NULL;
    const struct {
        const char *name;
        unsigned long long value;
    } counts[] = {
        {"self_loops", s->self_loops},
        {"duplicates", s->duplicates},
        {"components", s->components},
        {"isolated", s->isolated},
        {"cut", s->cut},
        {"memory", hf_part_bytes(graph, ranks, false, false)},
        {"memory_weighted", hf_part_bytes(graph, ranks, false, info->weighted)}};
    int failed = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        failed |= dict_put(dict, counts[i].name,
                           PyLong_FromUnsignedLongLong(counts[i].value));
    failed |= dict_put(dict, "part_time", PyFloat_FromDouble(s->part_time));
    failed |= dict_put(dict, "degrees",
                       array_of(s->degrees, (size_t)info->vertices, NPY_UINT32));
    failed |= dict_put(dict, "rank_edges",
                       array_of(s->rank_edges, (size_t)ranks, NPY_UINT64));
    if (failed)
        Py_CLEAR(dict);
    return dict;
}

PyObject *graph_survey(PyObject *module, PyObject *args) {
    const char *text, *partition;
    unsigned long long seed;
    int ranks;
    hf_graph *graph = NULL;
    hf_survey survey;
    hf_status status;
    if (!PyArg_ParseTuple(args, "sKsi:graph_survey", &text, &seed, &partition, &ranks))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = hf_graph_open(&graph, text, seed);
    if (status == HF_OK)
        status = hf_survey_make(&survey, graph, partition, ranks,
                                hf_host_memory_of("").free);
    Py_END_ALLOW_THREADS
    PyObject *dict = status == HF_OK ? survey_dict(graph, &survey, ranks)
                                     : status_raise(PyModule_GetState(module), status);
    if (status == HF_OK)
        hf_survey_free(&survey);
    hf_graph_close(graph);
    return dict;
}

PyObject *graph_rows(PyObject *module, PyObject *args) {
    const char *text;
    unsigned long long seed;
    int weights;
    hf_graph *graph = NULL;
    hf_part *part;
    hf_status status;
    if (!PyArg_ParseTuple(args, "sKp:graph_rows", &text, &seed, &weights))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = hf_graph_open(&graph, text, seed);
    if (status == HF_OK)
        status =
            hf_part_whole(&part, graph, false, weights, hf_host_memory_of("").free);
    hf_graph_close(graph);
    Py_END_ALLOW_THREADS
    if (status != HF_OK)
        return status_raise(PyModule_GetState(module), status);
    size_t n = (size_t)part->in_edges;
    PyObject *tuple = Py_BuildValue(
        "(NNN)", array_of(part->rows, (size_t)part->own + 1, NPY_UINT64),
        array_of(part->from, n, NPY_UINT32),
        weights ? array_of(part->weights, n, NPY_UINT32) : Py_NewRef(Py_None));
    hf_part_free(part);
    return tuple;
}
